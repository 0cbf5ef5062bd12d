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

#[cfg(test)]
mod tests {
    use super::*;
    use Side::{Client, Server};

    const NONE: Losses = Losses { retransmits: 0, timeouts: 0 };
    const SOME: Losses = Losses { retransmits: 3, timeouts: 1 };

    fn delivered(side: Side, total: u64) -> Event {
        Event::Delivered { conn: 7, side, total, losses: SOME }
    }

    /// Takes events one by one. Returns what each means, and the commands that it causes.
    fn take<const N: usize>(exchange: &mut Exchange, events: [Event; N]) -> [(Step, Vec<Command>); N] {
        events.map(|event| {
            let mut out = Vec::new();
            (exchange.handle(event, &mut out), out)
        })
    }

    #[test]
    fn the_server_answers_once_it_has_the_whole_request() {
        for (closes, with_response) in [(ServerCloses::WithResponse, true), (ServerCloses::AfterResponse, false)] {
            let mut exchange = Exchange::new(300, 5000, false, closes);
            let write = Command::Write { conn: 7, side: Client, bytes: 300 };
            let notices = [
                Command::NotifyAt { conn: 7, side: Server, total: 300 },
                Command::NotifyAt { conn: 7, side: Client, total: 5000 },
            ];
            let close = Command::Close { conn: 7, side: Server };
            let mut answer = vec![Command::Write { conn: 7, side: Server, bytes: 5000 }];
            answer.extend(with_response.then_some(close));
            let seen = take(
                &mut exchange,
                [
                    Event::Established { conn: 7, side: Server },
                    Event::Established { conn: 7, side: Client },
                    delivered(Server, 299),
                    delivered(Server, 300),
                    delivered(Server, 300),
                    delivered(Client, 4999),
                    delivered(Client, 5000),
                    delivered(Client, 5000),
                ],
            );
            let last = if with_response { vec![] } else { vec![close] };
            assert_eq!(
                seen,
                [
                    (Step::Quiet, vec![]),
                    (Step::Requested, vec![write, notices[0], notices[1]]),
                    (Step::Quiet, vec![]),
                    (Step::Quiet, answer),
                    (Step::Quiet, vec![]),
                    (Step::Quiet, vec![]),
                    (Step::Complete(SOME), last),
                    (Step::Quiet, vec![]),
                ]
            );
        }
    }

    #[test]
    fn the_first_data_is_told_once_and_the_rest_is_asked_for_unless_it_is_there() {
        let start = Event::Established { conn: 7, side: Client };
        let mut exchange = Exchange::new(300, 5000, true, ServerCloses::WithResponse);
        let seen =
            take(&mut exchange, [start, delivered(Client, 1448), delivered(Client, 2896), delivered(Client, 5000)]);
        assert_eq!(seen[0].1[2], Command::NotifyAt { conn: 7, side: Client, total: 1 });
        let rest = Command::NotifyAt { conn: 7, side: Client, total: 5000 };
        assert_eq!(seen[1], (Step::First { losses: SOME, complete: false }, vec![rest]));
        assert_eq!(seen[2..], [(Step::Quiet, vec![]), (Step::Complete(SOME), vec![])]);
        let mut small = Exchange::new(300, 500, true, ServerCloses::AfterResponse);
        let [first, again] = take(&mut small, [delivered(Client, 500), delivered(Client, 500)]);
        let close = Command::Close { conn: 7, side: Server };
        assert_eq!(first, (Step::First { losses: SOME, complete: true }, vec![close]));
        assert_eq!(again, (Step::Quiet, vec![]));
    }

    #[test]
    fn the_client_closes_after_the_server_and_what_ends_before_the_response_is_lost() {
        let finished = Event::Finished { conn: 7, failed: false, losses: NONE };
        let mut exchange = Exchange::new(300, 500, false, ServerCloses::WithResponse);
        let closed = Event::PeerClosed { conn: 7, side: Client };
        let seen = take(&mut exchange, [finished, closed, delivered(Client, 500), finished]);
        assert_eq!(seen[0].0, Step::Gone { lost: true, losses: NONE });
        assert_eq!(seen[1], (Step::Closed, vec![Command::Close { conn: 7, side: Client }]));
        assert_eq!(seen[3].0, Step::Gone { lost: false, losses: NONE });
        assert_eq!(take(&mut exchange, [Event::PeerClosed { conn: 7, side: Server }]), [(Step::Quiet, vec![])]);
    }

    #[test]
    fn an_event_of_a_connection_names_its_slot() {
        let of_connections = [
            Event::Established { conn: 7, side: Client },
            delivered(Client, 1),
            Event::Answered { conn: 7, number: 0, complete: true, losses: NONE },
            Event::Arrived { conn: 7, number: 0 },
            Event::PeerClosed { conn: 7, side: Server },
            Event::Finished { conn: 7, failed: false, losses: NONE },
        ];
        assert!(of_connections.into_iter().all(|event| conn_of(event) == Some(7)));
        assert!([Event::Start, Event::Timer, Event::End].into_iter().all(|event| conn_of(event).is_none()));
    }

    #[test]
    fn losses_are_added_and_subtracted_each_for_itself() {
        let more = Losses { retransmits: 5, timeouts: 1 };
        assert_eq!(SOME.plus(more), Losses { retransmits: 8, timeouts: 2 });
        assert_eq!(more.since(SOME), Losses { retransmits: 2, timeouts: 0 });
        assert_eq!(SOME.since(more), NONE);
    }
}
