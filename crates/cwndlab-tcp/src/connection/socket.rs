//! Socket options and flags of writes (RFC 9293, section 3.9.1; Linux's tcp(7) and send(2)).

use cwndlab_units::Time;

use super::Connection;
use crate::segment::{Flags, Segment};
use crate::socket_options::SocketOptions;
use crate::state::{CloseReason, State};

impl Connection {
    /// Appends bytes to the send stream, and announces more (`MSG_MORE`): less than a full segment waits until the next
    /// [`Connection::write`], the next ACK, or a retransmission timeout with nothing in flight.
    pub fn write_more(&mut self, bytes: u64) {
        self.write(bytes);
        self.socket_options().more = true;
    }

    /// Ends a record (`MSG_EOR`) at the last byte written: no segment contains bytes of two records.
    pub fn end_record(&mut self) {
        let (una, end) = (self.sender.snd.una, self.sender.snd.end);
        let records = &mut self.socket_options().records;
        while records.front().is_some_and(|end| *end <= una) {
            records.pop_front();
        }
        if records.back() != Some(&end) {
            records.push_back(end);
        }
    }

    /// Sets whether less than a full segment waits for more data (`TCP_CORK`), regardless of the flags of writes. With
    /// nothing in flight, it waits for at most one retransmission timeout.
    pub fn set_corked(&mut self, corked: bool) {
        if corked || self.sender.socket().is_some() {
            self.socket_options().corked = corked;
        }
    }

    /// Permits all data written so far to be sent without waiting for more, corked or not (as setting `TCP_NODELAY`
    /// does on Linux).
    pub fn push(&mut self) {
        if let Some(socket) = self.sender.socket_mut() {
            socket.pushed = true;
        }
    }

    /// Aborts when sent data or a window probe stays unacknowledged for this time after its first timeout, instead of
    /// after a number of retransmissions (`TCP_USER_TIMEOUT`; RFC 5482). As in Linux, the time counts from the first
    /// retransmission.
    pub fn set_user_timeout(&mut self, timeout: Option<Time>) {
        if timeout.is_some() || self.sender.socket().is_some() {
            let socket = self.socket_options();
            let began = socket.gives_up_at.zip(socket.user_timeout).map(|(at, before)| at.saturating_sub(before));
            socket.gives_up_at = began.zip(timeout).map(|(began, timeout)| began + timeout);
            socket.user_timeout = timeout;
        }
    }

    /// Notes that the application will read no more. Once it has also closed, new data is answered by a RST (RFC 1122,
    /// 4.2.2.13).
    pub fn close_read(&mut self) {
        self.socket_options().read_closed = true;
    }

    fn socket_options(&mut self) -> &mut SocketOptions {
        self.rest = super::fast::Rest::Busy;
        self.sender.extra.get_or_insert_default().socket.get_or_insert_default()
    }

    /// Aborts the connection and queues a RST if new data arrives after the application has closed and stopped reading.
    /// Returns whether it did.
    pub(super) fn refuses_data(&mut self, seg: &Segment) -> bool {
        use State::{Closing, FinWait1, FinWait2, LastAck, TimeWait};
        let read_closed = self.sender.socket().is_some_and(|socket| socket.read_closed);
        let refuses = read_closed && matches!(self.state, FinWait1 | FinWait2 | Closing | TimeWait | LastAck);
        if refuses {
            self.fail(CloseReason::Aborted);
            self.control = super::Control::Reset(if seg.flags.has(Flags::ACK) { seg.ack } else { 0 });
        }
        refuses
    }

    /// When the user timeout expires; [`Time::MAX`] if it is not running.
    pub(super) fn gives_up_at(&self) -> Time {
        self.sender.socket().and_then(|socket| socket.gives_up_at).unwrap_or(Time::MAX)
    }

    /// Starts the user timeout, if one is set, when the retransmission timer expires for the first time since the last
    /// progress (see [`Self::note_ack`]).
    pub(super) fn start_user_timeout(&mut self, now: Time) {
        let unanswered = self.retries > 0 || self.sender.snd.una == self.sender.snd.max;
        let waits = unanswered && self.sender.snd.timer.is_running();
        let Some(socket) = self.sender.socket_mut() else { return };
        if waits && socket.gives_up_at.is_none() {
            socket.gives_up_at = socket.user_timeout.map(|timeout| now + timeout);
        }
    }

    /// Whether unsent data waits for more data (`TCP_CORK`, `MSG_MORE`), although the peer's window has room for it.
    pub(super) fn is_held(&self) -> bool {
        let s = &self.sender;
        s.holds() && s.snd.edge > s.snd.nxt && s.snd.nxt < s.snd.end
    }

    /// Notes an arriving ACK, which ends `MSG_MORE` and, with `progress`, stops the user timeout. `progress`: the ACK
    /// acknowledges something new, or opens a window that was probed.
    pub(super) fn note_ack(&mut self, progress: bool) {
        if let Some(socket) = self.sender.socket_mut() {
            socket.more = false;
            if progress {
                socket.gives_up_at = None;
            }
        }
    }
}
