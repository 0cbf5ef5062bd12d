//! A handshake that protects nothing, with messages as long as those of TLS 1.3 with one certificate.

/// Bytes of each message or flight. The server's flight is all that follows its hello.
const CLIENT_HELLO: usize = 300;
const SERVER_HELLO: usize = 123;
const SERVER_FLIGHT: usize = 1100;
const CLIENT_FINISHED: usize = 52;

/// Bytes that a key appends to what it encrypts, as AES-128-GCM does.
pub(crate) const TAG: usize = 16;

/// What an end does next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    SendClientHello,
    AwaitServerHello,
    ClientHandshakeKeys,
    AwaitServerFlight,
    SendClientFinished,
    AwaitClientHello,
    SendServerHello,
    SendServerFlight,
    AwaitClientFinished,
    Done,
}

/// One end of the handshake.
pub(crate) struct Handshake {
    step: Step,
    /// This end's transport parameters, at the start of the client's hello and of the server's flight.
    params: Vec<u8>,
    received: Vec<u8>,
}

impl Handshake {
    pub(crate) fn new(is_client: bool, params: Vec<u8>) -> Handshake {
        let step = if is_client { Step::SendClientHello } else { Step::AwaitClientHello };
        Handshake { step, params, received: Vec::new() }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.step == Step::Done
    }

    /// Reads a part of the peer's messages. Returns the peer's transport parameters when they have arrived.
    pub(crate) fn read(&mut self, part: &[u8]) -> Option<Vec<u8>> {
        self.received.extend_from_slice(part);
        let (len, next) = match self.step {
            Step::AwaitServerHello => (SERVER_HELLO, Step::ClientHandshakeKeys),
            Step::AwaitServerFlight => (SERVER_FLIGHT, Step::SendClientFinished),
            Step::AwaitClientHello => (CLIENT_HELLO, Step::SendServerHello),
            Step::AwaitClientFinished => (CLIENT_FINISHED, Step::Done),
            _ => return None,
        };
        if self.received.len() < len {
            return None;
        }
        let message: Vec<u8> = self.received.drain(..len).collect();
        self.step = next;
        let with_params = matches!(next, Step::SendClientFinished | Step::SendServerHello);
        let params = usize::from(u16::from_be_bytes([message[0], message[1]]));
        with_params.then(|| message[2..2 + params].to_vec())
    }

    /// Appends this end's next message. Returns whether the keys of the next level are ready.
    pub(crate) fn write(&mut self, out: &mut Vec<u8>) -> bool {
        let (next, len, with_params, keys) = match self.step {
            Step::SendClientHello => (Step::AwaitServerHello, CLIENT_HELLO, true, false),
            Step::ClientHandshakeKeys => (Step::AwaitServerFlight, 0, false, true),
            Step::SendClientFinished => (Step::Done, CLIENT_FINISHED, false, true),
            Step::SendServerHello => (Step::SendServerFlight, SERVER_HELLO, false, true),
            Step::SendServerFlight => (Step::AwaitClientFinished, SERVER_FLIGHT, true, true),
            _ => return false,
        };
        self.step = next;
        let start = out.len();
        if with_params {
            out.extend_from_slice(&(self.params.len() as u16).to_be_bytes());
            out.extend_from_slice(&self.params);
        }
        out.resize(start + len.max(out.len() - start), 0);
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_get_the_other_ones_parameters_and_two_levels_of_keys() {
        let mut ends = [Handshake::new(true, vec![1, 2]), Handshake::new(false, vec![3])];
        let mut keys = [0, 0];
        let mut params = [vec![], vec![]];
        for round in 0..6 {
            let from = round % 2;
            let mut sent = Vec::new();
            while {
                let before = sent.len();
                let ready = ends[from].write(&mut sent);
                keys[from] += u32::from(ready);
                ready || sent.len() > before
            } {}
            // In two parts, as two packets may bring it.
            let (first, second) = sent.split_at(sent.len() / 2);
            for part in [first, second, &[]] {
                params[1 - from].extend(ends[1 - from].read(part).unwrap_or_default());
            }
        }
        assert!(ends.iter().all(Handshake::is_done));
        assert_eq!((keys, params), ([2, 2], [vec![3], vec![1, 2]]));
    }
}
