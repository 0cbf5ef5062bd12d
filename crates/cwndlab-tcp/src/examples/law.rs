use crate::congestion::law::{Cut, Growth, LossLaw};

/// Grows by a segment per window, like Reno, and gives up a fifth of the window for each loss.
#[derive(Clone, Debug, Default)]
struct Gentle {
    acked_bytes: u64,
}

impl LossLaw for Gentle {
    fn avoid(&mut self, growth: &Growth, cwnd: u32) -> u32 {
        self.acked_bytes += growth.bytes;
        if self.acked_bytes < u64::from(cwnd) {
            return cwnd;
        }
        self.acked_bytes = 0;
        cwnd + growth.mss
    }

    fn reduce(&mut self, _: &Cut<'_>, cwnd: u32) -> u32 {
        cwnd / 5 * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CongestionEvent, Profile};
    use cwndlab_units::Time;

    #[test]
    fn it_opens_by_a_segment_per_window_and_gives_up_a_fifth() {
        let mut law = Gentle::default();
        let half = Growth { now: Time::ZERO, mss: 1000, srtt: Time::ZERO, bytes: 5000 };
        assert_eq!([law.avoid(&half, 10_000), law.avoid(&half, 10_000)], [10_000, 11_000]);
        let cfg = Profile::Rfc5681.config();
        let cut = Cut { cfg: &cfg, event: CongestionEvent::Loss, base: 11_000, half: 5500, unit: 1, mss: 1000 };
        assert_eq!(law.reduce(&cut, 11_000), 8800);
    }
}
