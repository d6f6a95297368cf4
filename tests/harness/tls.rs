//! TLS in front of a server that speaks without: certificates made for one test, and a proxy.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

pub struct Tls {
    /// `host:port` to connect to.
    pub address: String,
    directory: TempDir,
}

impl Tls {
    /// A proxy in front of `server`, whose certificate is of an authority of its own.
    pub async fn before(server: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        make_certificates(directory.path());
        let certificate = CertificateDer::from_pem_file(directory.path().join("server.crt"));
        let key = PrivateKeyDer::from_pem_file(directory.path().join("server.key"));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.unwrap()], key.unwrap())
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = server.to_owned();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (acceptor, server) = (acceptor.clone(), server.clone());
                tokio::spawn(async move {
                    let mut client = acceptor.accept(client).await.ok()?;
                    let mut server = TcpStream::connect(server).await.ok()?;
                    tokio::io::copy_bidirectional(&mut client, &mut server)
                        .await
                        .ok()
                });
            }
        });
        Self { address, directory }
    }

    /// The certificate of the authority.
    pub fn authority(&self) -> PathBuf {
        self.directory.path().join("ca.crt")
    }
}

fn make_certificates(directory: &Path) {
    let script = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
                  -subj /CN=authority -keyout ca.key -out ca.crt
                  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
                  -subj /CN=server -keyout server.key -out server.csr
                  echo 'subjectAltName=IP:127.0.0.1' >extensions
                  openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 \
                  -extfile extensions -out server.crt";
    let made = Command::new("sh")
        .args(["-ec", script])
        .current_dir(directory)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{said}");
}
