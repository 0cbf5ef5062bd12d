//! CUBIC next to a model written from RFC 9438, in segments, seconds and real numbers.

use proptest::prelude::*;

use super::*;

/// A window in the real numbers of the RFC.
#[derive(Debug)]
struct Model {
    cwnd: f64,
    w_max: f64,
    cwnd_prior: f64,
    /// Start of the stage, K, and `W_est`; `None` before the first ACK of a stage.
    stage: Option<(f64, f64, f64)>,
    fast_convergence: bool,
}

impl Model {
    /// Sections 4.2 to 4.5: `acked` segments arrive at `t` with this round trip.
    fn ack(&mut self, t: f64, rtt: f64, acked: f64) {
        let cwnd = self.cwnd;
        if self.stage.is_none() {
            // figure 2; section 4.8: without a larger window before, K is 0 and W_max the window
            self.w_max = self.w_max.max(cwnd);
            self.stage = Some((t, libm::cbrt((self.w_max - cwnd) / 0.4), cwnd));
        }
        let (epoch, k, w_est) = self.stage.as_mut().expect("a stage");
        let w_cubic = |elapsed: f64| {
            let d = elapsed - *k;
            0.4 * d * d * d + self.w_max
        };
        let alpha = if *w_est < self.cwnd_prior { 3.0 * 0.3 / 1.7 } else { 1.0 };
        *w_est += alpha * acked / cwnd;
        if w_cubic(t - *epoch) < *w_est {
            self.cwnd = w_est.max(cwnd);
        } else {
            let target = w_cubic(t - *epoch + rtt).clamp(cwnd, 1.5 * cwnd);
            self.cwnd += (target - cwnd) / cwnd * acked;
        }
    }

    /// Sections 4.6 and 4.7.
    fn loss(&mut self) {
        self.cwnd_prior = self.cwnd;
        self.w_max = if self.fast_convergence && self.cwnd < self.w_max { self.cwnd * 1.7 / 2.0 } else { self.cwnd };
        self.cwnd *= 0.7;
        self.stage = None;
    }
}

#[derive(Clone, Debug)]
enum Step {
    Acks {
        count: u32,
        segments: u64,
        after_ms: u64,
    },
    Loss,
    /// A timeout, after which slow start has led to this part of the window before.
    Timeout(f64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let acks = (1..30_u32, 1..4_u64, prop_oneof![0..10_u64, 0..400_u64]);
    let acks = acks.prop_map(|(count, segments, after_ms)| Step::Acks { count, segments, after_ms });
    let timeout = (0.2..0.9_f64).prop_map(Step::Timeout);
    proptest::collection::vec(prop_oneof![8 => acks, 2 => Just(Step::Loss), 1 => timeout], 1..25)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn cubic_follows_the_equations(
        steps in steps(), first in 10_u32..400, rtt_ms in 1_u64..300, fast_convergence in any::<bool>(),
    ) {
        const MSS: u32 = 100_000; // so that whole bytes of the window matter little
        let mut law = Cubic::new();
        let mut cwnd = first * MSS;
        let mut model =
            Model { cwnd: f64::from(first), w_max: 0.0, cwnd_prior: 0.0, stage: None, fast_convergence };
        let mut now_ms = 1000;
        for step in steps {
            match step {
                Step::Acks { count, segments, after_ms } => for _ in 0..count {
                    now_ms += after_ms;
                    let (now, srtt) = (Time::from_millis(now_ms), Time::from_millis(rtt_ms));
                    cwnd = law.open(cwnd, &Growth { now, mss: MSS, srtt, bytes: segments * u64::from(MSS) });
                    model.ack(now_ms as f64 / 1e3, rtt_ms as f64 / 1e3, segments as f64);
                    let found = f64::from(cwnd) / f64::from(MSS);
                    prop_assert!((found - model.cwnd).abs() < 1e-3 * model.cwnd, "{found} {model:?}");
                    if model.cwnd > 20_000.0 {
                        return Ok(()); // more bytes than 32 bits hold are near
                    }
                },
                Step::Loss => {
                    let flight = u64::from(cwnd);
                    cwnd = law.on_congestion(cwnd, flight, MSS, fast_convergence);
                    model.loss();
                }
                Step::Timeout(part) => {
                    cwnd = law.on_congestion(cwnd, u64::from(cwnd), MSS, fast_convergence);
                    law.on_timeout(&crate::Profile::Linux6.config());
                    model.loss();
                    model.w_max = 0.0;
                    cwnd = (f64::from(cwnd) * part) as u32;
                    model.cwnd = f64::from(cwnd) / f64::from(MSS);
                }
            }
        }
    }
}
