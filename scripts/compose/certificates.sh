#!/bin/sh
# certificates.sh DIRECTORY: a throw-away authority and a server certificate for `localhost`, 127.0.0.1 and ::1.
# Leaves ca.crt, server.crt and server.key there; the authority's key is thrown away.
set -eu
cd "$1"
rm -f ca.crt server.crt server.key

cat >ca.cnf <<END
[req]
distinguished_name = name
prompt = no
x509_extensions = authority
[name]
CN = rhizodat test authority
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
END
cat >server.cnf <<END
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = DNS:localhost, IP:127.0.0.1, IP:::1
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
END

say_if_failed() { "$@" 2>openssl.log || { cat openssl.log >&2; exit 1; }; }
say_if_failed openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -sha256 -days 30 \
    -config ca.cnf -keyout ca.key -out ca.crt
say_if_failed openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -sha256 \
    -config ca.cnf -subj /CN=localhost -keyout server.key -out server.csr
say_if_failed openssl x509 -req -sha256 -days 30 -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial \
    -extfile server.cnf -out server.crt
rm -f ca.key ca.srl ca.cnf server.cnf server.csr openssl.log
chmod 600 server.key
chmod 644 ca.crt server.crt
