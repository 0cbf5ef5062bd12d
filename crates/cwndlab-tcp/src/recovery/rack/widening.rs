//! How DSACKs widen RACK's reordering window (RFC 8985, section 6.2, step 4).

use cwndlab_units::Time;

/// Repairs without a DSACK after which the window is narrow again (`TCP_RACK_RECOVERY_THRESH`).
const PERSIST: u8 = 16;
/// Greatest multiple in Linux.
const MOST: u32 = 0xff;

/// The multiple of a quarter of the minimum round trip.
#[derive(Clone, Debug)]
pub(super) struct Widening {
    /// `RACK.reo_wnd_mult`.
    multiplier: u32,
    /// `RACK.reo_wnd_persist`: how many more repairs without a DSACK reset `multiplier` to 1.
    persist: u8,
    /// `RACK.dsack_round`: the end of the data sent when a DSACK last widened the window; `None` once it is acknowledged.
    round: Option<u64>,
    /// In Linux: whether a DSACK is to widen the window (`dsack_seen`), and when one last did (`last_delivered`).
    pending: bool,
    widened_at: Time,
}

impl Default for Widening {
    fn default() -> Self {
        Widening { multiplier: 1, persist: PERSIST, round: None, pending: false, widened_at: Time::ZERO }
    }
}

impl Widening {
    pub fn multiplier(&self) -> u64 {
        u64::from(self.multiplier)
    }

    /// Whether the next ACK may change the state.
    pub fn is_open(&self) -> bool {
        self.pending || self.round.is_some()
    }

    /// Whether a DSACK is to widen the window.
    pub fn is_pending(&self) -> bool {
        self.pending
    }

    /// Widens the window once per round with a DSACK. `una`, `max`: SND.UNA after the ACK, and the end of what was sent.
    pub fn note(&mut self, dsack: bool, una: u64, max: u64) {
        self.end_round(una);
        if self.round.is_none() && dsack {
            self.round = Some(max);
            self.widen();
        }
    }

    /// Does so by Linux's rounds (`tcp_rack_update_reo_wnd`): a DSACK counts if of what this or a later ACK is the first to
    /// report, something was sent after the last one that counted. `newest_sent`: when the newest of it was sent.
    pub fn note_sent(&mut self, now: Time, dsack: bool, newest_sent: Option<Time>) {
        self.pending |= dsack;
        let Some(sent) = newest_sent else { return };
        if std::mem::take(&mut self.pending) && sent >= self.widened_at {
            self.widened_at = now;
            self.widen();
        }
    }

    fn widen(&mut self) {
        self.multiplier = (self.multiplier + 1).min(MOST);
        self.persist = PERSIST;
    }

    /// Ends the round of a DSACK once the data that was outstanding at its beginning is acknowledged.
    pub fn end_round(&mut self, una: u64) {
        self.round = self.round.filter(|&end| una < end);
    }

    /// Counts the end of a repair of losses, and resets the window after 16 without a DSACK.
    pub fn count_repair(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.multiplier = 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn a_dsack_widens_the_window_once_until_what_was_outstanding_is_acknowledged() {
        let mut widening = Widening::default();
        widening.note(true, 100, 500);
        widening.note(true, 499, 900);
        assert_eq!((widening.multiplier(), widening.is_open()), (2, true));
        widening.note(true, 500, 900);
        assert_eq!(widening.multiplier(), 3);
        widening.note(false, 900, 900);
        assert_eq!((widening.multiplier(), widening.is_open()), (3, false));
    }

    #[test]
    fn in_linux_a_round_ends_with_the_first_report_of_what_was_sent_after_the_last_dsack() {
        let mut widening = Widening::default();
        widening.note_sent(ms(100), true, Some(ms(50)));
        assert_eq!(widening.multiplier(), 2);
        widening.note_sent(ms(120), true, Some(ms(99)));
        assert_eq!((widening.multiplier(), widening.is_pending()), (2, false), "sent before the first one counted");
        widening.note_sent(ms(150), true, Some(ms(100)));
        assert_eq!(widening.multiplier(), 3);
        // An ACK that reports nothing else leaves the DSACK to the next.
        widening.note_sent(ms(300), true, None);
        assert_eq!((widening.multiplier(), widening.is_pending()), (3, true));
        widening.note_sent(ms(310), false, Some(ms(250)));
        assert_eq!((widening.multiplier(), widening.is_pending()), (4, false));
        widening.note_sent(ms(500), false, Some(ms(400)));
        assert_eq!(widening.multiplier(), 4);
    }

    #[test]
    fn the_window_is_narrow_again_after_sixteen_repairs_without_a_dsack() {
        let mut widening = Widening::default();
        widening.note_sent(ms(1), true, Some(ms(0)));
        (0..15).for_each(|_| widening.count_repair());
        assert_eq!(widening.multiplier(), 2);
        widening.note_sent(ms(9), true, Some(ms(8)));
        (0..15).for_each(|_| widening.count_repair());
        assert_eq!(widening.multiplier(), 3);
        widening.count_repair();
        assert_eq!(widening.multiplier(), 1);
    }

    #[test]
    fn the_multiple_has_a_greatest_value() {
        let mut widening = Widening::default();
        (0..300_u64).for_each(|k| widening.note_sent(ms(2 * k), true, Some(ms(2 * k))));
        assert_eq!(widening.multiplier(), 255);
    }
}
