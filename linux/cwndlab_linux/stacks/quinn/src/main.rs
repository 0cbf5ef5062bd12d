//! A server that sends, and a client that receives, over one stream of quinn, or of noq, which has its interface.
//!
//! `server ADDRESS PORT LAW CERTIFICATE KEY`, or `client ADDRESS PORT BYTES`.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

use quic::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quic::{ClientConfig, Endpoint, Incoming, ServerConfig, TransportConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};

mod laws;

type Outcome = Result<(), Box<dyn Error>>;

const PROTOCOL: &[u8] = b"cwndlab";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let words: Vec<String> = std::env::args().skip(1).collect();
    rustls::crypto::ring::default_provider().install_default().expect("the first");
    let address: SocketAddr = format!("{}:{}", words[1], words[2]).parse()?;
    match words[0].as_str() {
        "server" => serve(address, &words[3], &words[4], &words[5]).await,
        _ => receive(address, words[3].parse()?).await,
    }
}

async fn serve(address: SocketAddr, name: &str, certificate: &str, key: &str) -> Outcome {
    let chain = vec![CertificateDer::from_pem_file(certificate)?];
    let mut tls =
        rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, PrivateKeyDer::from_pem_file(key)?)?;
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(laws::find(name));
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    config.transport_config(Arc::new(transport));
    let endpoint = Endpoint::server(config, address)?;
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async { send(incoming).await.map_err(|error| eprintln!("{error}")) });
    }
    Ok(())
}

/// Answers a request of eight bytes, how many bytes are wanted, where 0 is without end.
async fn send(incoming: Incoming) -> Result<(), String> {
    let say = |error: &dyn Error| error.to_string();
    let connection = incoming.await.map_err(|e| say(&e))?;
    let (mut sending, mut receiving) = connection.accept_bi().await.map_err(|e| say(&e))?;
    let mut wanted = [0; 8];
    receiving.read_exact(&mut wanted).await.map_err(|e| say(&e))?;
    let mut left = match u64::from_be_bytes(wanted) {
        0 => u64::MAX,
        bytes => bytes,
    };
    let chunk = vec![0; 64 * 1024];
    while left > 0 {
        let size = usize::try_from(left).unwrap_or(usize::MAX).min(chunk.len());
        sending.write_all(&chunk[..size]).await.map_err(|e| say(&e))?;
        left -= size as u64;
    }
    sending.finish().map_err(|e| say(&e))?;
    connection.closed().await;
    Ok(())
}

async fn receive(address: SocketAddr, bytes: u64) -> Outcome {
    let mut tls = rustls::ClientConfig::builder()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate))
        .with_no_client_auth();
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    let config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    let endpoint = Endpoint::client("0.0.0.0:0".parse()?)?;
    let connection = endpoint.connect_with(config, address, "localhost")?.await?;
    let (mut sending, mut receiving) = connection.open_bi().await?;
    sending.write_all(&bytes.to_be_bytes()).await?;
    sending.finish()?;
    let (mut received, mut chunk) = (0, vec![0; 64 * 1024]);
    while let Some(size) = receiving.read(&mut chunk).await? {
        received += size;
    }
    eprintln!("{received} bytes");
    connection.close(0u32.into(), b"");
    endpoint.wait_idle().await;
    Ok(())
}

/// The server's certificate is whatever it has: the network is simulated.
#[derive(Debug)]
struct AnyCertificate;

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
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519, SignatureScheme::ECDSA_NISTP256_SHA256]
    }
}
