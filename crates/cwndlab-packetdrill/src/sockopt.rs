//! Socket options: those that change what is sent are applied, those without effect are accepted, all others rejected.

use crate::calls::Returned;
use crate::error::{unsupported, wrong, Result};
use crate::machine::Machine;
use crate::number::integer;
use crate::script::Call;
use crate::settings;
use crate::socket::{Descriptor, Kind};
use cwndlab_tcp::State;
use cwndlab_units::Time;

/// Options that are accepted without effect: those for addresses, routes, other fields of the IP header or signals, and
/// the size of the send buffer, which is not modelled. Writes accept everything immediately; if a script expects a
/// write to wait or to accept less, it is rejected as not supported.
const WITHOUT_EFFECT: [&str; 10] = [
    "SO_REUSEADDR",
    "SO_REUSEPORT",
    "SO_NOSIGPIPE",
    "IP_FREEBIND",
    "SO_BINDTODEVICE",
    "SO_MARK", // used for routing only
    "IPV6_V6ONLY",
    "IP_TOS",
    "IP_MTU_DISCOVER",
    "SO_SNDBUF",
];
const SETTABLE: &str = "TCP_NODELAY, TCP_CORK, TCP_MAXSEG, TCP_USER_TIMEOUT, TCP_CONGESTION, SO_LINGER, SO_RCVBUF";
const GETTABLE: &str = "SO_ERROR, TCP_NODELAY, TCP_CORK, TCP_MAXSEG, TCP_USER_TIMEOUT";

impl Machine {
    pub fn set_option(&mut self, line: usize, call: &Call) -> Result<Returned> {
        let name = call.arguments.get(2).map_or("", String::as_str);
        let text = call.arguments.get(3).map_or("", String::as_str).trim_matches(['[', ']', '"', '{', '}']);
        if call.result != Some(0) {
            return unsupported(line, format!("setsockopt(…, {name}, …): only calls that return 0 are supported"));
        }
        let descriptor = self.descriptor(line, call)?;
        let connected = matches!(descriptor.kind, Kind::Connected(_));
        let mut pushes = false;
        match (name, integer(text)) {
            ("TCP_NODELAY", Some(n)) => {
                descriptor.cfg.nagle = n == 0;
                pushes = n != 0;
            }
            ("TCP_CORK", Some(n)) => descriptor.corked = n != 0,
            ("TCP_USER_TIMEOUT", Some(n)) if (0..=i64::from(i32::MAX)).contains(&n) => descriptor.user_timeout_ms = n,
            ("TCP_MAXSEG", Some(n)) if (8..=65_535).contains(&n) && !connected => descriptor.cfg.mss = n as u32,
            // The kernel doubles the value and reserves half of the result for bookkeeping, so the value itself remains
            // for data.
            ("SO_RCVBUF", Some(n)) if (1..=1 << 30).contains(&n) && !connected => {
                descriptor.cfg.receive_buffer_bytes = n as u64;
                descriptor.cfg.receive_tuning = cwndlab_tcp::ReceiveTuning::None;
            }
            ("TCP_MAXSEG" | "SO_RCVBUF", Some(_)) if connected => {
                return unsupported(
                    line,
                    format!("{name} of a connection cannot be changed here, only before it opens"),
                );
            }
            ("SO_LINGER", _) => descriptor.linger_zero = text.replace(' ', "").contains("onoff=1,linger=0"),
            ("TCP_CONGESTION", _) => {
                let before = descriptor.cfg.window_law;
                if let Err(message) = settings::congestion_control(&mut descriptor.cfg, text) {
                    return unsupported(line, message);
                }
                if connected && descriptor.cfg.window_law != before {
                    return unsupported(line, "the congestion control of a connection cannot be changed here");
                }
            }
            ("TCP_NODELAY" | "TCP_CORK" | "TCP_USER_TIMEOUT" | "TCP_MAXSEG" | "SO_RCVBUF", _) => {
                return wrong(line, format!("setsockopt(…, {name}, …): expected [number], found {text:?}"));
            }
            (name, _) if WITHOUT_EFFECT.contains(&name) => {}
            (name, _) => {
                return unsupported(line, format!("setsockopt(…, {name}, …) is not supported, only {SETTABLE}"));
            }
        }
        if let Descriptor { kind: Kind::Connected(index), cfg, corked, user_timeout_ms, .. } = *descriptor {
            self.endpoints[index].cfg = cfg;
            self.apply_options(index, corked, user_timeout_ms);
            if pushes {
                self.endpoints[index].connection.push();
            }
        }
        Ok(Returned::Value(0))
    }

    /// Applies to a connection those options that are not knobs of its configuration.
    pub fn apply_options(&mut self, index: usize, corked: bool, user_timeout_ms: i64) {
        let connection = &mut self.endpoints[index].connection;
        connection.set_auto_read(self.receive_buffer.is_none());
        connection.set_corked(corked);
        let timeout = u64::try_from(user_timeout_ms).unwrap_or(0);
        connection.set_user_timeout((timeout > 0).then(|| Time::from_millis(timeout)));
    }

    pub fn get_option(&mut self, line: usize, call: &Call) -> Result<Returned> {
        let name = call.arguments.get(2).map_or("", String::as_str);
        let expected = call.arguments.get(3).map_or("", String::as_str).trim_matches(['[', ']']);
        let Descriptor { cfg, kind, corked, user_timeout_ms, .. } = *self.descriptor(line, call)?;
        // Whether the connection has left SYN-SENT, even if only to SYN-RECEIVED (simultaneous open).
        let opened = |index: usize| self.endpoints[index].connection.state() != State::SynSent;
        let found = match (name, kind) {
            // BSD rounds its buffer up to whole segments when the connection opens.
            ("SO_RCVBUF", Kind::Connected(index)) if self.receive_buffer.is_some() && opened(index) => {
                cfg.receive_buffer_bytes.to_string()
            }
            ("SO_RCVBUF", _) if self.receive_buffer.is_some() => self.receive_buffer.unwrap_or_default().to_string(),
            ("SO_ERROR", Kind::Connected(index)) => self.endpoints[index].take_error().unwrap_or("0").to_string(),
            ("SO_ERROR", _) => "0".to_string(),
            ("TCP_NODELAY", _) => u8::from(!cfg.nagle).to_string(),
            ("TCP_CORK", _) => u8::from(corked).to_string(),
            ("TCP_USER_TIMEOUT", _) => user_timeout_ms.to_string(),
            ("TCP_MAXSEG", Kind::Connected(index)) => self.endpoints[index].connection.mss().to_string(),
            ("TCP_MAXSEG", _) => cfg.mss.to_string(),
            (name, _) => {
                return unsupported(line, format!("getsockopt(…, {name}, …) is not supported, only {GETTABLE}"))
            }
        };
        let equal = found == expected || integer(expected).is_some_and(|n| n.to_string() == found);
        if !equal {
            return wrong(line, format!("expected getsockopt(…, {name}, …) to give {expected}, but it gave {found}"));
        }
        Ok(Returned::Value(0))
    }
}
