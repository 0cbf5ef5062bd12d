//! Window laws from outside the engine.

use cwndlab_tcp::{CongestionControl, LawError, LawId};
use cwndlab_traffic::Side;

/// Creates the window laws that a scenario's configurations request by
/// [`WindowLawKind::External`](cwndlab_tcp::WindowLawKind::External).
pub trait Laws {
    /// Creates the law for one end of a connection.
    ///
    /// # Errors
    ///
    /// If there is no law with this ID, or the law cannot be created. The error ends the run.
    fn make(&mut self, id: LawId, flow: &Flow) -> Result<Box<dyn CongestionControl>, LawError>;
}

/// The flow for which a law is created.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flow {
    /// Name of the traffic entry.
    pub traffic: String,
    /// Serial number of the connection in its run.
    pub connection: u32,
    /// The end of the connection.
    pub side: Side,
    /// Seed for the random numbers of this law; it depends on the seed of the study, the replicate and the flow.
    pub seed: u64,
}

impl std::fmt::Display for Flow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let side = if self.side == Side::Client { "client" } else { "server" };
        let comma = if self.traffic.is_empty() { "" } else { ", " };
        write!(f, "{}{comma}connection {}, {side}", self.traffic, self.connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_named_by_its_traffic_its_number_and_its_end() {
        let flow = |traffic: &str, side| Flow { traffic: traffic.into(), connection: 3, side, seed: 0 }.to_string();
        assert_eq!(flow("web", Side::Client), "web, connection 3, client");
        assert_eq!(flow("", Side::Server), "connection 3, server");
    }
}
