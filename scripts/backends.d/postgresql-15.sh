# PostgreSQL 15 from Debian, with TLS, a Unix socket, and a database `tlsonly` that is only to be had over TLS.
# shellcheck shell=bash disable=SC2034,SC2154 # read and set by scripts/backends
binaries=/usr/lib/postgresql/15/bin
# shellcheck source=scripts/backends.d/shared/postgresql.sh
. "$definitions/shared/postgresql.sh"

variables=(RHIZODAT_TEST_POSTGRESQL_15 RHIZODAT_TEST_POSTGRESQL_15_CA RHIZODAT_TEST_POSTGRESQL_15_SOCKET)

missing_packages() {
    [ -x "$binaries/postgres" ] || echo postgresql-15
    command -v openssl >/dev/null || echo openssl
}

start() {
    mkdir -p "$dir/certificates"
    sh "$files/certificates.sh" "$dir/certificates"
    [ "$EUID" -ne 0 ] || chown postgres: "$dir/certificates/server.key"
    start_postgresql "$files/pg_hba-15.conf" \
        -c ssl=on -c "ssl_cert_file=$dir/certificates/server.crt" -c "ssl_key_file=$dir/certificates/server.key"
}

settle() {
    socket_psql -d postgres -f - <"$files/roles.sql" >>"$dir/log" 2>&1 &&
        socket_psql -d postgres -f - <"$files/tlsonly.sql" >>"$dir/log" 2>&1
}

environment() {
    export_line RHIZODAT_TEST_POSTGRESQL_15 "postgresql://postgres:postgres-test@127.0.0.1:$(port postgresql)/postgres"
    export_line RHIZODAT_TEST_POSTGRESQL_15_CA "$dir/certificates/ca.crt"
    export_line RHIZODAT_TEST_POSTGRESQL_15_SOCKET "$dir/socket"
}
