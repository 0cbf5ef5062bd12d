//! A server that sends, and a client that receives, over one stream of s2n-quic.
//!
//! `server ADDRESS PORT LAW CERTIFICATE KEY`, or `client ADDRESS PORT BYTES CERTIFICATE`.

use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;

use bytes::Bytes;
use s2n_quic::client::Connect;
use s2n_quic::provider::congestion_controller::{Bbr, Cubic};
use s2n_quic::provider::tls::rustls;
use s2n_quic::{Client, Connection, Server};

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

const PROTOCOL: &[u8] = b"cwndlab";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let address: SocketAddr = format!("{}:{}", words[1], words[2]).parse()?;
    match words[0].as_str() {
        "server" => serve(address, &words[3], Path::new(&words[4]), Path::new(&words[5])).await,
        _ => receive(address, words[3].parse()?, Path::new(&words[4])).await,
    }
}

async fn serve(address: SocketAddr, law: &str, certificate: &Path, key: &Path) -> Outcome {
    let tls = rustls::Server::builder()
        .with_certificate(certificate, key)?
        .with_application_protocols([PROTOCOL].into_iter())?
        .build()?;
    let server = Server::builder().with_tls(tls)?.with_io(address)?;
    let mut server = match law {
        "cubic" => server.with_congestion_controller(Cubic::default())?.start()?,
        "bbr2" => server.with_congestion_controller(Bbr::default())?.start()?,
        _ => panic!("s2n-quic has cubic and bbr2, no {law}"),
    };
    while let Some(connection) = server.accept().await {
        tokio::spawn(async { send(connection).await.map_err(|error| eprintln!("{error}")) });
    }
    Ok(())
}

/// Answers a request of eight bytes, how many bytes are wanted, where 0 is without end.
async fn send(mut connection: Connection) -> Result<(), String> {
    let say = |error: s2n_quic::stream::Error| error.to_string();
    let Some(mut stream) = connection.accept_bidirectional_stream().await.map_err(|e| e.to_string())? else {
        return Ok(());
    };
    let mut wanted = Vec::new();
    while let Some(part) = stream.receive().await.map_err(say)? {
        wanted.extend_from_slice(&part);
    }
    let mut left = match u64::from_be_bytes(wanted.try_into().map_err(|_| "a request has eight bytes")?) {
        0 => u64::MAX,
        bytes => bytes,
    };
    let chunk = Bytes::from(vec![0; 64 * 1024]);
    while left > 0 {
        let size = usize::try_from(left).unwrap_or(usize::MAX).min(chunk.len());
        stream.send(chunk.slice(..size)).await.map_err(say)?;
        left -= size as u64;
    }
    stream.close().await.map_err(say)
}

async fn receive(address: SocketAddr, bytes: u64, certificate: &Path) -> Outcome {
    let tls = rustls::Client::builder()
        .with_certificate(certificate)?
        .with_application_protocols([PROTOCOL].into_iter())?
        .build()?;
    let client = Client::builder().with_tls(tls)?.with_io("0.0.0.0:0")?.start()?;
    let mut connection = client.connect(Connect::new(address).with_server_name("localhost")).await?;
    let mut stream = connection.open_bidirectional_stream().await?;
    stream.send(Bytes::copy_from_slice(&bytes.to_be_bytes())).await?;
    stream.finish()?;
    let mut received = 0;
    while let Some(chunk) = stream.receive().await? {
        received += chunk.len();
    }
    eprintln!("{received} bytes");
    Ok(())
}
