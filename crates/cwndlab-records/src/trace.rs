//! Writes the segments table as traces in formats that other tools read.

pub mod ns;
pub mod pcapng;
mod wire;

pub use wire::FIRST_SERVER_PORT;

/// The ends of a connection, which the segments table does not repeat in every row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Node of the client end.
    pub client: u32,
    /// Node of the server end.
    pub server: u32,
    /// Index of the traffic entry, which determines the server's port.
    pub traffic: u32,
    /// Whether this is a datagram flow instead of a TCP connection.
    pub datagrams: bool,
}
