use cwndlab_units::Time;
use serde::{Deserialize, Serialize};

use crate::dist::{Dist, Rng, Sampler};
use crate::error::AppError;
use crate::event::{Command, Event, Side};
use crate::spec::{Application, Setup, Spec};

/// Messages over one connection, with a pause after each.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessagesSpec {
    /// Bytes of a message.
    pub message_bytes: Dist,
    /// Seconds from a message to the next.
    pub pause_s: Dist,
}

impl Spec for MessagesSpec {
    type App = Messages;

    fn dists(&self) -> Vec<(&'static str, &Dist)> {
        vec![("message_bytes", &self.message_bytes), ("pause_s", &self.pause_s)]
    }

    fn build(&self, setup: &mut Setup<'_>) -> Result<Messages, AppError> {
        let size = self.message_bytes.of_field("message_bytes", setup.shared)?;
        let pause = self.pause_s.of_field("pause_s", setup.shared)?;
        Ok(Messages {
            tcp_client: setup.tcp_client,
            tcp_server: setup.tcp_server,
            size: (size, (setup.stream)("sizes")),
            pause: (pause, (setup.stream)("pauses")),
        })
    }
}

/// A client that writes messages and expects no answer.
#[derive(Clone)]
pub struct Messages {
    tcp_client: u16,
    tcp_server: u16,
    size: (Sampler, Rng),
    pause: (Sampler, Rng),
}

impl Application for Messages {
    fn handle(&mut self, now: Time, event: Event, out: &mut Vec<Command>) {
        match event {
            Event::Start => {
                out.push(Command::Connect { conn: 0, tcp_client: self.tcp_client, tcp_server: self.tcp_server });
            }
            Event::Established { side: Side::Client, .. } | Event::Timer => {
                let bytes = self.size.0.draw_bytes(&mut self.size.1);
                out.push(Command::Write { conn: 0, side: Side::Client, bytes });
                out.push(Command::Timer { at: now + self.pause.0.draw_time(&mut self.pause.1) });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn it_connects_and_then_writes_a_message_after_each_pause() {
        let json = r#"{"message_bytes": {"kind": "fixed", "value": 200}, "pause_s": {"kind": "fixed", "value": 0.5}}"#;
        let spec: MessagesSpec = serde_json::from_str(json).unwrap();
        assert_eq!(spec.dists().len(), 2);
        let shared = BTreeMap::new();
        let mut stream = |_: &str| Rng::new(1);
        let mut setup = Setup {
            tcp_client: 3,
            tcp_server: 4,
            mss: 1000,
            over_quic: false,
            ip_header_bytes: 20,
            shared: &shared,
            stream: &mut stream,
        };
        let mut app = spec.build(&mut setup).unwrap();
        let mut out = Vec::new();
        app.handle(Time::ZERO, Event::Start, &mut out);
        assert_eq!(out, [Command::Connect { conn: 0, tcp_client: 3, tcp_server: 4 }]);
        for (ms, event) in [(40, Event::Established { conn: 0, side: Side::Client }), (540, Event::Timer)] {
            out.clear();
            app.handle(Time::from_millis(ms), event, &mut out);
            let write = Command::Write { conn: 0, side: Side::Client, bytes: 200 };
            assert_eq!(out, [write, Command::Timer { at: Time::from_millis(ms + 500) }]);
        }
    }
}
