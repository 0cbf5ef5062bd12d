//! One connection with one request from the client and one response from the server. The server then closes.

use crate::event::{Command, Event, Losses, Side};
use crate::spec::ServerCloses;

/// The state of a connection with one request and one response. Pass the connection's events to [`Exchange::handle`],
/// which returns what each means for the exchange.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    request: u64,
    response: u64,
    /// Whether to report the arrival of the response's first data as a [`Step::First`].
    tell_first: bool,
    closes: ServerCloses,
    replied: bool,
    complete: bool,
}

/// What an event means for an [`Exchange`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// The request was written.
    Requested,
    /// The response's first data arrived (and all of it, if `complete`).
    First {
        /// losses of the connection so far
        losses: Losses,
        /// whether the whole response has arrived
        complete: bool,
    },
    /// The response's last byte arrived.
    Complete(Losses),
    /// The server's FIN arrived.
    Closed,
    /// The connection has ended.
    Gone {
        /// whether the connection ended before the whole response had arrived
        lost: bool,
        /// losses of the connection
        losses: Losses,
    },
    /// The event concerns the server only, or changes nothing.
    Quiet,
}

impl Exchange {
    pub(crate) fn new(request: u64, response: u64, tell_first: bool, closes: ServerCloses) -> Exchange {
        Exchange { request, response, tell_first, closes, replied: false, complete: false }
    }

    pub(crate) fn handle(&mut self, event: Event, out: &mut Vec<Command>) -> Step {
        match event {
            Event::Established { conn, side: Side::Client } => {
                out.push(Command::Write { conn, side: Side::Client, bytes: self.request });
                out.push(Command::NotifyAt { conn, side: Side::Server, total: self.request });
                let total = if self.tell_first { 1 } else { self.response };
                out.push(Command::NotifyAt { conn, side: Side::Client, total });
                Step::Requested
            }
            Event::Delivered { conn, side: Side::Server, total, .. } if !self.replied && total >= self.request => {
                self.replied = true;
                out.push(Command::Write { conn, side: Side::Server, bytes: self.response });
                if self.closes == ServerCloses::WithResponse {
                    out.push(Command::Close { conn, side: Side::Server });
                }
                Step::Quiet
            }
            Event::Delivered { conn, side: Side::Client, total, losses } if !self.complete => {
                self.complete = total >= self.response;
                if self.complete && self.closes == ServerCloses::AfterResponse {
                    out.push(Command::Close { conn, side: Side::Server });
                }
                if std::mem::take(&mut self.tell_first) {
                    if !self.complete {
                        out.push(Command::NotifyAt { conn, side: Side::Client, total: self.response });
                    }
                    Step::First { losses, complete: self.complete }
                } else if self.complete {
                    Step::Complete(losses)
                } else {
                    Step::Quiet
                }
            }
            Event::PeerClosed { conn, side: Side::Client } => {
                out.push(Command::Close { conn, side: Side::Client });
                Step::Closed
            }
            Event::Finished { losses, .. } => Step::Gone { lost: !self.complete, losses },
            _ => Step::Quiet,
        }
    }
}

/// The slot number of the connection that an event concerns; `None` if the event concerns no connection.
pub(crate) fn conn_of(event: Event) -> Option<u32> {
    match event {
        Event::Established { conn, .. }
        | Event::Delivered { conn, .. }
        | Event::Answered { conn, .. }
        | Event::Arrived { conn, .. }
        | Event::PeerClosed { conn, .. }
        | Event::Finished { conn, .. } => Some(conn),
        Event::Start | Event::Timer | Event::End => None,
    }
}
