//! When to acknowledge (RFC 1122, section 4.2.3.2; RFC 5681, section 4.2). [`AckState`] has a variant for each family
//! of receivers.

mod adaptive;
pub(crate) mod arrival;
mod counted;
mod linux;

use self::adaptive::Adaptive;
pub(crate) use self::arrival::{Arrival, Arriving, Data, Due, Effect};
use self::counted::Counted;
pub(crate) use self::linux::Linux;
use crate::config::{AckPolicy, TcpConfig};
use crate::tuned_buffer::{Held, TunedBuffer};
use cwndlab_units::Time;

/// The state of a policy: a variant for each family of receivers.
#[derive(Clone, Debug)]
pub(crate) enum AckState {
    /// Counts segments or bytes.
    Counted(Counted),
    /// Linux 2.0 and 2.2.
    Adaptive(Adaptive),
    /// Linux 6, or any policy with a receive buffer that grows.
    Linux(Box<LinuxReceiver>),
}

/// Linux's acknowledgment policy, a receive buffer that grows, or both.
#[derive(Clone, Debug)]
pub(crate) struct LinuxReceiver {
    /// The configured policy, if it is not Linux's; the field `linux` is then unused.
    pub counted: Option<Counted>,
    pub linux: Linux,
    /// `None` if the buffer has its full size from the beginning.
    pub buffer: Option<TunedBuffer>,
    /// RCV.NXT when `buffer` last determined the window to advertise. As long as no data arrives or is read, the window
    /// stays the same, so that it need not be determined again. 0 once data has arrived or been read.
    pub offered_at: u64,
    /// The segment sent next is to be followed by one with a wider window: the application reads right after it
    /// (`__tcp_cleanup_rbuf`).
    pub widens: bool,
    /// Of more data than [`READ_BYTES`] that arrived or became contiguous at once, the bytes that are not read when the
    /// next window is determined.
    pub unread: u32,
}

/// What an application reads at a time.
pub(crate) const READ_BYTES: u32 = 1 << 16;

impl LinuxReceiver {
    /// What [`Self::unread`] occupies: a segment of which some is left, as much as a whole one.
    pub fn unread_segments(&self) -> u32 {
        if self.unread == 0 {
            0
        } else {
            self.unread.next_multiple_of(self.linux.segment_bytes().max(1))
        }
    }

    /// Lets the application read until the window that could be advertised is at least twice `left`, or nothing is left
    /// to read. Returns whether it is (see [`TunedBuffer::doubles`]).
    #[inline]
    pub fn reads_until_it_doubles(&mut self, left: u64, last: (u8, u32), held: Held) -> bool {
        if self.unread == 0 {
            return self.buffer.as_mut().is_some_and(|buffer| buffer.doubles(left, last, held));
        }
        self.reads_by_parts(left, last, held)
    }

    /// Whether the window doubles while the application reads what is left, a part at a time.
    #[inline(never)]
    fn reads_by_parts(&mut self, left: u64, last: (u8, u32), held: Held) -> bool {
        loop {
            self.unread = self.unread.saturating_sub(READ_BYTES);
            let unread = held.unread + self.unread_segments();
            let doubles =
                self.buffer.as_mut().is_some_and(|buffer| buffer.doubles(left, last, Held { unread, ..held }));
            if doubles || self.unread == 0 {
                return doubles;
            }
        }
    }
}

impl AckState {
    pub fn new(cfg: &TcpConfig) -> Self {
        if let AckPolicy::Adaptive { .. } = cfg.ack_policy {
            return AckState::Adaptive(Adaptive::default());
        }
        let counted = (cfg.ack_policy != AckPolicy::Linux).then(|| Counted::new(cfg.ack_policy));
        match (counted, TunedBuffer::of(cfg)) {
            (Some(counted), None) => AckState::Counted(counted),
            (counted, buffer) => AckState::Linux(Box::new(LinuxReceiver {
                counted,
                linux: Linux::default(),
                buffer,
                offered_at: 0,
                widens: false,
                unread: 0,
            })),
        }
    }

    /// Returns the receive buffer, if its size is tuned as in Linux.
    pub fn buffer(&self) -> Option<&TunedBuffer> {
        let AckState::Linux(state) = self else { return None };
        state.buffer.as_ref()
    }

    /// Returns the receive buffer, if its size is tuned as in Linux.
    pub fn buffer_mut(&mut self) -> Option<&mut TunedBuffer> {
        let AckState::Linux(state) = self else { return None };
        state.buffer.as_mut()
    }

    /// Returns the state of Linux's acknowledgment policy, if this policy is configured.
    pub fn linux(&mut self) -> Option<&mut Linux> {
        let AckState::Linux(state) = self else { return None };
        state.counted.is_none().then_some(&mut state.linux)
    }

    /// Returns the payload bytes of the peer's full segments, as Linux's receiver estimates them.
    pub fn segment_bytes(&self) -> Option<u32> {
        let AckState::Linux(state) = self else { return None };
        state.counted.is_none().then(|| state.linux.segment_bytes())
    }

    /// Sets the initial segment size and the advertised window, once the handshake is done or was skipped.
    pub fn on_established(&mut self, cfg: &TcpConfig, now: Time, mss: u32, window: u32) {
        if let Some(buffer) = self.buffer_mut() {
            buffer.on_established(now, mss, window);
        }
        if let Some(linux) = self.linux() {
            linux.on_established(cfg, now, mss, window);
        }
    }

    /// Processes a segment with data. Returns the time at which its acknowledgment is due.
    pub fn on_data(&mut self, cfg: &TcpConfig, data: &Data) -> Due {
        match self {
            AckState::Counted(counted) => counted.on_data(cfg, data.now, data.mss, data.arrival),
            AckState::Adaptive(adaptive) => {
                let AckPolicy::Adaptive(knobs) = &cfg.ack_policy else { return Due::Now };
                adaptive.on_data(cfg, knobs, data)
            }
            AckState::Linux(state) => match &mut state.counted {
                Some(counted) => counted.on_data(cfg, data.now, data.mss, data.arrival),
                None => state.linux.on_data(cfg, data),
            },
        }
    }

    /// Records that an acknowledgment of everything up to `nxt` was sent, with or without data. Returns the time of its
    /// timestamp, and whether another acknowledgment is due at once.
    #[inline]
    pub fn on_sent(&mut self, cfg: &TcpConfig, now: Time, nxt: u64, with_data: bool) -> (Time, bool) {
        match self {
            AckState::Counted(counted) => counted.on_sent(),
            AckState::Adaptive(adaptive) => adaptive.on_sent(),
            AckState::Linux(state) => {
                let widens = std::mem::take(&mut state.widens) && !with_data;
                if let Some(counted) = &mut state.counted {
                    counted.on_sent();
                    return (now, widens);
                }
                return (state.linux.on_sent(cfg, now, nxt, with_data), widens);
            }
        }
        (now, false)
    }
}
