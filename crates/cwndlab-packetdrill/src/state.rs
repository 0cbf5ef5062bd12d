//! States of connections as scripts see them: `tcpi_state`, and what FreeBSD's `sockstat` prints.

use crate::error::{wrong, Result};
use crate::socket::Endpoint;
use cwndlab_tcp::State;

/// The states in the order of Linux's values of `tcpi_state`, from 1 (`include/net/tcp_states.h`), with the names that
/// FreeBSD's scripts use (`netinet/tcp_fsm.h`, whose values differ); `sockstat` prints the second name of a state.
const STATES: [(State, &str, &str); 11] = [
    (State::Established, "TCPI_ESTABLISHED", "ESTABLISHED"),
    (State::SynSent, "TCPI_SYN_SENT", "SYN_SENT"),
    (State::SynReceived, "TCPI_SYN_RECEIVED", "SYN_RCVD"),
    (State::FinWait1, "TCPI_FIN_WAIT_1", "FIN_WAIT_1"),
    (State::FinWait2, "TCPI_FIN_WAIT_2", "FIN_WAIT_2"),
    (State::TimeWait, "TCPI_TIME_WAIT", "TIME_WAIT"),
    (State::Closed, "TCPI_CLOSED", "CLOSED"),
    (State::CloseWait, "TCPI_CLOSE_WAIT", "CLOSE_WAIT"),
    (State::LastAck, "TCPI_LAST_ACK", "LAST_ACK"),
    (State::Listen, "TCPI_LISTEN", "LISTEN"),
    (State::Closing, "TCPI_CLOSING", "CLOSING"),
];

/// All names of states, each with its value in `tcpi_state`.
pub(crate) fn values() -> impl Iterator<Item = (&'static str, f64)> {
    STATES.iter().zip(1_u8..).map(|((_, name, _), value)| (*name, f64::from(value)))
}

/// `tcpi_state` of a connection in `state`.
pub(crate) fn value(state: State) -> f64 {
    STATES.iter().zip(1_u8..).find(|(row, _)| row.0 == state).map_or(0.0, |(_, value)| f64::from(value))
}

/// `sockstat … | grep -c STATE | grep N`: a script's assertion about the number of connections in a state.
pub(crate) struct SocketCount {
    state: State,
    name: String,
    expected: usize,
}

impl SocketCount {
    /// Parses the assertion; `None` if `text` is another command.
    pub fn parse(text: &str) -> Option<Self> {
        let mut commands = text.split('|').map(str::split_whitespace);
        (commands.next()?.next()? == "sockstat").then_some(())?;
        let (mut name, mut expected) = (None, None);
        for mut words in commands {
            match (words.next()?, words.next()?, words.next(), words.next()) {
                ("grep", "-c", Some(state), None) => name = Some(state),
                ("grep", count, None, None) => expected = count.parse().ok().or(expected),
                _ => return None,
            }
        }
        let name = name?;
        let state = STATES.iter().find(|(_, _, printed)| *printed == name)?.0;
        Some(SocketCount { state, name: name.to_string(), expected: expected? })
    }

    /// Returns an error if the number of connections in this state is not the expected one.
    pub fn check(&self, line: usize, endpoints: &[Endpoint]) -> Result<()> {
        let found = endpoints.iter().filter(|endpoint| endpoint.connection.state() == self.state).count();
        if found == self.expected {
            return Ok(());
        }
        wrong(line, format!("expected {} connections in {}, found {found}", self.expected, self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_have_the_values_of_linux() {
        let states = [State::Established, State::Closed, State::CloseWait, State::Listen, State::Closing];
        assert_eq!(states.map(|state| value(state) as u8), [1, 7, 8, 10, 11]);
    }

    #[test]
    fn a_count_of_sockets_is_read_from_its_pipeline() {
        let count = SocketCount::parse("sockstat -4 -P tcp -s | grep packetdril | grep -c TIME_WAIT | grep 1");
        let count = count.expect("a count");
        assert_eq!((count.state, count.expected), (State::TimeWait, 1));
        for other in ["sysctl -q a=1", "sockstat -4", "sockstat -4 | grep -c SLEEPING | grep 1", "sockstat | wc -l"] {
            assert!(SocketCount::parse(other).is_none(), "{other}");
        }
    }
}
