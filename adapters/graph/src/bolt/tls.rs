//! Whom an encrypted connection trusts.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

/// Which certificates are accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Those of the system's authorities, under the server's name.
    System,
    /// Those of the authorities in this file, under the server's name.
    File(String),
    /// Any (`+ssc`): who listens in is kept out, who stands in between is not.
    Anyone,
}

/// The configuration for this trust. Errors: what cannot be read, in words.
pub(crate) fn client_config(trust: &Trust) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let mut roots = RootCertStore::empty();
    match trust {
        Trust::Anyone => {
            let verifier = Arc::new(AnyCertificate(provider));
            return Ok(builder
                .dangerous()
                .with_custom_certificate_verifier(verifier)
                .with_no_client_auth());
        }
        Trust::System => {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
            if roots.is_empty() {
                return Err("the system has no certificates of authorities".to_owned());
            }
        }
        Trust::File(path) => {
            let certificates = CertificateDer::pem_file_iter(Path::new(path))
                .map_err(|error| error.to_string())?;
            for certificate in certificates {
                let certificate = certificate.map_err(|error| error.to_string())?;
                roots.add(certificate).map_err(|error| error.to_string())?;
            }
            if roots.is_empty() {
                return Err("the file has no certificate".to_owned());
            }
        }
    }
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Accepts every certificate, and still checks that the server has its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let supported = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, supported)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let supported = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, supported)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
