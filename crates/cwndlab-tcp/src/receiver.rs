//! The receiving half: data that has arrived, the advertised window, and when to acknowledge.

mod linux;

use std::num::NonZeroU64;

use cwndlab_units::Time;

use crate::ack_policy::{AckState, Arrival, Arriving, Data, Due, Effect};
use crate::config::TcpConfig;
use crate::reassembly::{Blocks, Reassembly};
use crate::segment::Flags;
use crate::sender::Sender;

/// The receiving half of a connection. Positions (RFC 9293, section 3.3.1) are 64-bit positions in the peer's stream.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    /// RCV.NXT
    pub nxt: u64,
    /// Right edge of the advertised window. It never moves back (RFC 9293, section 3.8.6.2.1).
    pub edge: u64,
    /// The shift count of this end's advertised windows (RFC 7323, section 2) plus one; 0 if scaling was not agreed on.
    /// An `Option` would make every connection larger.
    pub shift_plus_1: u8,
    /// In-order bytes that the application has not read; at most 2^30, the largest window (RFC 7323, section 2.3).
    pub unread: u32,
    /// Whether the application reads immediately.
    pub auto_read: bool,
    /// Position of the peer's FIN, once it has arrived.
    pub fin_at: Option<NonZeroU64>,
    /// Whether the connection was opened passively, so that a SYN in TIME-WAIT may open it again.
    pub listens: bool,
    /// TS.Recent (RFC 7323, section 4.3).
    pub ts_recent: u32,
    /// The low 32 bits of Last.ACK.sent (RFC 7323, section 4.3).
    pub last_ack: u32,
    /// Whether an acknowledgment is due now.
    pub ack_now: bool,
    pub policy: AckState,
    pub beyond: Option<Box<Reassembly>>,
}

impl Receiver {
    pub fn new(cfg: &TcpConfig) -> Self {
        Receiver {
            nxt: 1,
            edge: 1,
            shift_plus_1: 0,
            unread: 0,
            auto_read: true,
            fin_at: None,
            listens: false,
            ts_recent: 0,
            last_ack: 1,
            ack_now: false,
            policy: AckState::new(cfg),
            beyond: None,
        }
    }

    /// Whether the FIN has been received in order.
    pub fn fin_received(&self) -> bool {
        self.fin_at.is_some_and(|fin_at| self.nxt > fin_at.get())
    }

    /// Payload bytes received in order.
    pub fn received(&self) -> u64 {
        self.nxt - 1 - u64::from(self.fin_received())
    }

    /// Stores a segment's timestamp as TS.Recent (RFC 7323, section 4.3) if the segment does not begin beyond
    /// Last.ACK.sent and the timestamp is not older than TS.Recent. `outdated`: TS.Recent is too old for this
    /// comparison. Returns whether the timestamp was stored.
    pub fn note_timestamp(&mut self, start: i64, ts_val: u32, outdated: bool) -> bool {
        let begins = (start as u32).wrapping_sub(self.last_ack) as i32 <= 0;
        let newer = begins && (outdated || ts_val.wrapping_sub(self.ts_recent) as i32 >= 0);
        if newer {
            self.ts_recent = ts_val;
        }
        newer
    }

    /// Accepts a segment's payload. Returns when the acknowledgment is due. `sender` is this end's own sending half.
    #[inline(always)]
    pub fn take(&mut self, cfg: &TcpConfig, now: Time, sender: &Sender, mut new: Arriving) -> Due {
        // Data beyond the window is not accepted (RFC 9293, section 3.10.7.4: trimmed to the window).
        new.end = new.end.min(self.edge.max(self.nxt));
        if new.end <= new.start {
            return Due::Now; // nothing is in the window, as with a probe of a closed window (RFC 9293, 3.8.6.1)
        }
        if self.is_linux() {
            return self.take_linux(cfg, now, sender, &new);
        }
        self.take_counted(cfg, now, sender, &new)
    }

    /// The part of [`Self::take`] for an end with neither Linux 6's acknowledgment policy nor a buffer that grows.
    #[inline(never)]
    fn take_counted(&mut self, cfg: &TcpConfig, now: Time, sender: &Sender, new: &Arriving) -> Due {
        let arrival = self.arrival(new.start, new.end);
        self.store(cfg, arrival, new);
        self.note_data(cfg, now, sender, new, arrival, Effect::default())
    }

    /// Classifies the payload `[start, end)` of a segment by its position relative to the data that arrived before.
    #[inline(always)]
    fn arrival(&self, start: u64, end: u64) -> Arrival {
        if start == self.nxt && self.beyond.is_none() {
            return Arrival::InOrder((end - start) as u32);
        }
        self.irregular_arrival(start, end)
    }

    /// Classifies a segment that does not begin at `nxt`, or that arrives while data beyond a hole is stored.
    #[inline(never)]
    fn irregular_arrival(&self, start: u64, end: u64) -> Arrival {
        let bytes = (end - start) as u32;
        if end <= self.nxt {
            Arrival::Old
        } else if start > self.nxt {
            Arrival::Beyond
        } else if self.beyond.as_ref().is_none_or(|beyond| beyond.is_empty()) {
            Arrival::Partial(bytes)
        } else {
            Arrival::Filling(bytes)
        }
    }

    /// Stores the payload of a segment that [`Self::arrival`] has classified.
    #[inline(always)]
    fn store(&mut self, cfg: &TcpConfig, arrival: Arrival, new: &Arriving) {
        if let Arrival::InOrder(bytes) = arrival {
            self.nxt = new.end;
            self.unread += if self.auto_read { 0 } else { bytes };
        } else {
            self.take_irregular(cfg, new);
        }
    }

    #[inline(never)]
    fn take_irregular(&mut self, cfg: &TcpConfig, new: &Arriving) {
        let &Arriving { start, end, seg, .. } = new;
        if end <= self.nxt {
            if cfg.dsack {
                // If a FIN arrives again with the data, it belongs to the duplicate, too (`tcp_send_dupack`).
                let fin = seg.flags.has(Flags::FIN) && self.fin_received();
                self.beyond.get_or_insert_default().note_duplicate(start, end + u64::from(fin));
            }
            return;
        }
        let before = self.nxt;
        let blocks = match self.policy.linux() {
            None => Blocks::Whole,
            Some(linux) if linux.withholds() => Blocks::Withheld,
            Some(linux) if linux.acks_before() => Blocks::Later,
            Some(_) => Blocks::Remembered,
        };
        let beyond = self.beyond.get_or_insert_default();
        if blocks != Blocks::Whole {
            beyond.forget_duplicate();
        }
        if start <= self.nxt {
            // If parts of the segment had arrived before, DSACK reports the first of them (RFC 2883, section 4).
            let known = if start < self.nxt { Some((start, self.nxt)) } else { beyond.first_below(end) };
            self.nxt = beyond.advance(end);
            if let Some((from, to)) = known.filter(|_| cfg.dsack) {
                beyond.note_duplicate(from, to);
            }
        } else {
            let known = beyond.insert(start, end, blocks);
            if let Some((from, to)) = known.filter(|_| cfg.dsack) {
                beyond.note_duplicate(from, to);
            }
        }
        self.unread += if self.auto_read { 0 } else { (self.nxt - before) as u32 };
    }

    /// Frees the reassembly if it stores no data beyond a hole. Call it only once the SACK blocks of the next segment
    /// to send have been built: they report the duplicate that the reassembly records.
    pub fn tidy(&mut self) {
        if self.beyond.as_ref().is_some_and(|beyond| beyond.is_empty()) {
            self.beyond = None;
        }
    }

    /// Passes a stored segment to the acknowledgment policy. Returns when the acknowledgment is due.
    #[inline(always)]
    fn note_data(
        &mut self,
        cfg: &TcpConfig,
        now: Time,
        sender: &Sender,
        new: &Arriving,
        arrival: Arrival,
        effect: Effect,
    ) -> Due {
        if let AckState::Counted(counted) = &mut self.policy {
            return counted.on_data(cfg, now, sender.snd.mss, arrival);
        }
        let data = Data {
            now,
            mss: sender.snd.mss,
            arrival,
            new,
            nxt: self.nxt,
            beyond: self.beyond.as_deref(),
            effect,
            rtt: &sender.snd.rtt,
        };
        self.policy.on_data(cfg, &data)
    }

    /// Processes a read of `bytes` bytes by the application. Returns whether an acknowledgment is now due.
    pub fn read(&mut self, cfg: &TcpConfig, now: Time, mss: u32, bytes: u32) -> bool {
        // Linux adjusts its buffer once the first segment is read (`tcp_recvmsg_locked`); `later` is then unread.
        let later = self.unread - bytes.min(mss);
        self.unread -= bytes;
        if self.is_linux() {
            let received = self.nxt - u64::from(self.fin_received());
            if let Some(buffer) = self.policy.buffer_mut() {
                buffer.free_until(received - u64::from(self.unread));
            }
            self.begin_read(bytes);
            return self.after_read(cfg, now, mss, received - u64::from(later), self.fin_received());
        }
        // A window update is due once the window would grow by a segment or, if that is less, half the buffer (RFC
        // 9293, section 3.8.6.2.2).
        let opened = (self.nxt + self.free(cfg)).saturating_sub(self.edge);
        opened >= u64::from(cfg.mss).min(cfg.receive_buffer_bytes / 2)
    }

    /// Returns the window to advertise, in bytes, as the header can express it with the agreed scale. Updates `edge`.
    #[inline(always)]
    pub fn offer(&mut self, cfg: &TcpConfig) -> u32 {
        if let AckState::Linux(state) = &self.policy {
            if state.offered_at == self.nxt {
                return (self.edge - self.nxt) as u32;
            }
            if state.buffer.is_some() {
                return self.offer_tuned();
            }
        }
        if self.unread > 0 || !self.auto_read {
            return self.offer_rest(cfg);
        }
        // The whole buffer is free.
        let unit = (cfg.receive_buffer_bytes >> self.shift()).min(0xffff) << self.shift();
        self.edge = (self.nxt + unit).max(self.edge);
        (self.edge - self.nxt).min(u64::from(u32::MAX)) as u32
    }

    /// The part of [`Self::offer`] for an application that does not read at once or has not read everything.
    #[inline(never)]
    fn offer_rest(&mut self, cfg: &TcpConfig) -> u32 {
        let free = self.free(cfg);
        let unit = (free >> self.shift()).min(0xffff) << self.shift();
        let mut edge = (self.nxt + unit).max(self.edge);
        // Growth by less than a segment (or half the buffer, if less) is not advertised (RFC 9293, 3.8.6.2.2).
        let gain = edge - self.edge;
        if gain < u64::from(cfg.mss).min(cfg.receive_buffer_bytes / 2) && self.edge > self.nxt && !self.auto_read {
            edge = self.edge;
        }
        if free < u64::from(cfg.mss).min(cfg.receive_buffer_bytes / 2) {
            edge = self.edge.max(self.nxt);
        }
        self.edge = edge;
        (edge - self.nxt).min(u64::from(u32::MAX)) as u32
    }
}
