//! Requests of the client and responses of the server, each pair on a bidirectional stream.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use cwndlab_engine::Answer;

use super::append;
use super::proto::{Connection, Dir, StreamId};

/// Largest number of bytes given to a stack in one call, and the content of all streams.
const CHUNK: usize = 1 << 16;
static ZEROS: [u8; CHUNK] = [0; CHUNK];

/// The sizes of all responses, by the number of the request. Requests carry no content, so the server looks them up here.
#[derive(Clone, Default)]
pub(super) struct Sizes(Arc<Mutex<Vec<u64>>>);

impl Sizes {
    fn lock(&self) -> MutexGuard<'_, Vec<u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one end sends on the stream of an exchange, and what it has received.
struct Exchange {
    /// The stream; `None` before it is open.
    id: Option<StreamId>,
    /// Bytes that the stack has not accepted. A server's response is added when the request is complete.
    unsent: u64,
    /// Whether there is nothing to add to `unsent`.
    ends: bool,
    received: u64,
}

/// The exchanges of one end.
pub(super) struct Exchanges {
    is_client: bool,
    /// By the number of the request. Streams are opened in this order, so it is the order of their IDs, too.
    all: Vec<Exchange>,
    /// Number of exchanges that have a stream.
    open: usize,
    /// Those that are open and whose data the stack has not accepted completely.
    sending: Vec<usize>,
    answers: VecDeque<Answer>,
    sizes: Sizes,
}

impl Exchanges {
    pub(super) fn new(is_client: bool, sizes: Sizes) -> Exchanges {
        Exchanges { is_client, all: Vec::new(), open: 0, sending: Vec::new(), answers: VecDeque::new(), sizes }
    }

    /// Adds a request.
    pub(super) fn ask(&mut self, request: u64, response: u64) {
        self.sizes.lock().push(response);
        self.all.push(Exchange { id: None, unsent: request, ends: true, received: 0 });
    }

    /// Whether all that this end has to send was given to the stack.
    pub(super) fn all_sent(&self) -> bool {
        self.sending.is_empty() && self.open == self.all.len()
    }

    pub(super) fn poll_answer(&mut self) -> Option<Answer> {
        self.answers.pop_front()
    }

    /// Accepts the streams that the peer has opened, and reads their data. Returns its length.
    pub(super) fn accept(&mut self, connection: &mut Connection) -> u64 {
        let mut bytes = 0;
        while let Some(id) = connection.streams().accept(Dir::Bi) {
            self.all.push(Exchange { id: Some(id), unsent: 0, ends: false, received: 0 });
            self.open += 1;
            bytes += self.read(connection, id);
        }
        bytes
    }

    /// Reads what has arrived on a stream. Returns its length.
    pub(super) fn read(&mut self, connection: &mut Connection, id: StreamId) -> u64 {
        let number = id.index() as usize;
        let Some(exchange) = self.all.get_mut(number) else { return 0 };
        let (bytes, ended) = read(connection, id);
        let is_first = exchange.received == 0 && bytes > 0;
        exchange.received += bytes;
        if self.is_client {
            if is_first && !ended {
                self.answers.push_back(Answer { number: number as u32, complete: false });
            }
            if ended {
                self.answers.push_back(Answer { number: number as u32, complete: true });
            }
        } else if ended && !exchange.ends {
            exchange.unsent = self.sizes.lock()[number];
            exchange.ends = true;
            self.sending.push(number);
        }
        bytes
    }

    /// Opens streams and gives the stack what there is to send, as far as it accepts that.
    pub(super) fn send(&mut self, connection: &mut Connection) {
        while self.open < self.all.len() {
            let Some(id) = connection.streams().open(Dir::Bi) else { break };
            self.all[self.open].id = Some(id);
            self.sending.push(self.open);
            self.open += 1;
        }
        let all = &mut self.all;
        self.sending.retain(|number| {
            let exchange = &mut all[*number];
            let Some(id) = exchange.id else { return true };
            while exchange.unsent > 0 {
                let accepted = send(connection, id, exchange.unsent);
                if accepted == 0 {
                    return true;
                }
                exchange.unsent -= accepted;
            }
            finish(connection, id);
            false
        });
    }
}

/// Appends at most `bytes` bytes to a stream. Returns how many the stack accepted.
pub(super) fn send(connection: &mut Connection, stream: StreamId, bytes: u64) -> u64 {
    let chunk = Bytes::from_static(&ZEROS[..bytes.min(CHUNK as u64) as usize]);
    append(&mut connection.send_stream(stream), chunk)
}

pub(super) fn finish(connection: &mut Connection, stream: StreamId) {
    let _ = connection.send_stream(stream).finish(); // fails only if the peer has stopped the stream
}

/// Reads all that has arrived in order on a stream. Returns its length, and whether the stream has ended.
pub(super) fn read(connection: &mut Connection, stream: StreamId) -> (u64, bool) {
    let mut receiving = connection.recv_stream(stream);
    let Ok(mut chunks) = receiving.read(true) else { return (0, false) };
    let mut bytes = 0;
    let ended = loop {
        match chunks.next(usize::MAX) {
            Ok(Some(chunk)) => bytes += chunk.bytes.len() as u64,
            Ok(None) => break true,
            Err(_) => break false,
        }
    };
    let _ = chunks.finalize(); // the simulator polls for transmissions in any case
    (bytes, ended)
}
