//! Requests of the client and responses of the server, each pair on a bidirectional stream.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cwndlab_engine::Answer;

use crate::stack::{Direction, Stack};

/// The sizes of all responses, by the number of the request. Requests carry no content, so the server looks them up here.
#[derive(Clone, Default)]
pub(crate) struct Sizes(Arc<Mutex<Vec<u64>>>);

impl Sizes {
    fn lock(&self) -> MutexGuard<'_, Vec<u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one end sends on the stream of an exchange, and what it has received.
struct Exchange<Id> {
    /// The stream; `None` before it is open.
    id: Option<Id>,
    /// Bytes that the stack has not accepted. A server's response is added when the request is complete.
    unsent: u64,
    /// Whether there is nothing to add to `unsent`.
    ends: bool,
    received: u64,
}

/// The exchanges of one end.
pub(crate) struct Exchanges<Id> {
    is_client: bool,
    /// By the number of the request. Streams are opened in this order, so it is the order of their IDs, too.
    all: Vec<Exchange<Id>>,
    /// Number of exchanges that have a stream.
    open: usize,
    /// Those that are open and whose data the stack has not accepted completely.
    sending: Vec<usize>,
    answers: VecDeque<Answer>,
    sizes: Sizes,
}

impl<Id: Copy> Exchanges<Id> {
    pub(crate) fn new(is_client: bool, sizes: Sizes) -> Exchanges<Id> {
        Exchanges { is_client, all: Vec::new(), open: 0, sending: Vec::new(), answers: VecDeque::new(), sizes }
    }

    /// Adds a request.
    pub(crate) fn ask(&mut self, request: u64, response: u64) {
        self.sizes.lock().push(response);
        self.all.push(Exchange { id: None, unsent: request, ends: true, received: 0 });
    }

    /// Whether all that this end has to send was given to the stack.
    pub(crate) fn all_sent(&self) -> bool {
        self.sending.is_empty() && self.open == self.all.len()
    }

    pub(crate) fn poll_answer(&mut self) -> Option<Answer> {
        self.answers.pop_front()
    }

    /// Accepts the streams that the peer has opened, and reads their data. Returns its length.
    pub(crate) fn accept(&mut self, stack: &mut impl Stack<Id = Id>) -> u64 {
        let mut bytes = 0;
        while let Some(id) = stack.accept(Direction::Both) {
            self.all.push(Exchange { id: Some(id), unsent: 0, ends: false, received: 0 });
            self.open += 1;
            bytes += self.read(stack, id);
        }
        bytes
    }

    /// Reads what has arrived on a stream. Returns its length.
    pub(crate) fn read<S: Stack<Id = Id>>(&mut self, stack: &mut S, id: Id) -> u64 {
        let number = S::number(id);
        let Some(exchange) = self.all.get_mut(number) else { return 0 };
        let (bytes, ended) = stack.read(id);
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
    pub(crate) fn send(&mut self, stack: &mut impl Stack<Id = Id>) {
        while self.open < self.all.len() {
            let Some(id) = stack.open(Direction::Both) else { break };
            self.all[self.open].id = Some(id);
            self.sending.push(self.open);
            self.open += 1;
        }
        let all = &mut self.all;
        self.sending.retain(|number| {
            let exchange = &mut all[*number];
            let Some(id) = exchange.id else { return true };
            while exchange.unsent > 0 {
                let accepted = stack.send(id, exchange.unsent);
                if accepted == 0 {
                    return true;
                }
                exchange.unsent -= accepted;
            }
            stack.finish(id);
            false
        });
    }
}
