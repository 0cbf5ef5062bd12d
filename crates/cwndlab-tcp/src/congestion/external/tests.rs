use super::*;
use crate::{Controller, LawId, Profile, TcpConfig, WindowLawKind};

const MSS: u32 = 1000;

/// A law that adds a thousandth of `growth_bytes` to cwnd, and halves cwnd after a loss. The law fails at its first ACK
/// at or after `fails_at`.
#[derive(Debug)]
struct Slow {
    fails_at: Time,
}

impl CongestionControl for Slow {
    fn on_ack(
        &mut self,
        ack: &AckReport,
        _: &AfterAck,
        growth_bytes: u64,
        window: &mut Window,
    ) -> Result<(), LawError> {
        if ack.now >= self.fails_at {
            return Err(LawError("on purpose".into()));
        }
        window.set_cwnd_bytes(window.cwnd_bytes() + growth_bytes as f64 / 1000.0);
        Ok(())
    }

    fn on_loss(&mut self, _: &LossEvent, window: &mut Window) -> Result<(), LawError> {
        window.set_cwnd_bytes(window.cwnd_bytes() / 2.0);
        Ok(())
    }
}

fn sender(fails_at: Time) -> (TcpConfig, Controller, LawFailures) {
    let law = WindowLawKind::External { code: LawId(1), random: false };
    let cfg = TcpConfig { window_law: law, initial_ssthresh_segments: 12, ..Profile::Rfc5681.config() };
    let (mut cc, failures) = (Controller::new(&cfg, MSS), LawFailures::default());
    cc.attach(Box::new(Slow { fails_at }), "the flow".into(), failures.clone());
    cc.on_start(&Start { now: Time::ZERO, mss: MSS, mtu: MSS, srtt: Time::ZERO, min_rtt: Time::MAX }, None);
    (cfg, cc, failures)
}

fn acks(cfg: &TcpConfig, cc: &mut Controller, count: u64, may_grow: bool) {
    for at in 1..=count {
        let ack = AckReport {
            now: Time::from_millis(at),
            mss: MSS,
            acked_bytes: 500,
            fresh_bytes: 500,
            ..AckReport::default()
        };
        cc.on_feedback(&ack);
        cc.on_ack(cfg, &ack, &AfterAck { may_grow, ..AfterAck::CALM });
    }
}

#[test]
fn slow_start_opens_the_window_up_to_the_threshold_and_the_law_takes_over_with_its_fractions() {
    let (cfg, mut cc, _) = sender(Time::MAX);
    let before = cc.cwnd();
    acks(&cfg, &mut cc, (12 * u64::from(MSS) - before) / 500, true);
    assert_eq!(cc.cwnd(), 12_000);
    acks(&cfg, &mut cc, 3, true);
    assert_eq!(cc.cwnd(), 12_001, "half a byte an ACK");
    acks(&cfg, &mut cc, 100, false);
    assert_eq!(cc.cwnd(), 12_001, "in recovery nothing is to be added");
    acks(&cfg, &mut cc, 1, true);
    assert_eq!(cc.cwnd(), 12_002);
}

#[test]
fn the_threshold_follows_a_loss_and_a_timeout_leaves_one_segment() {
    let (cfg, mut cc, _) = sender(Time::MAX);
    acks(&cfg, &mut cc, 100, true);
    let before = cc.cwnd();
    cc.on_congestion(&cfg, Time::ZERO, CongestionEvent::Loss, before, MSS);
    assert_eq!((cc.cwnd(), cc.ssthresh()), (before / 2, before / 2));
    cc.on_undo(Time::ZERO, MSS);
    assert_eq!(cc.cwnd(), before);
    cc.on_congestion(&cfg, Time::ZERO, CongestionEvent::Rto, before, MSS);
    assert_eq!((cc.cwnd(), cc.ssthresh()), (u64::from(MSS), before / 2));
    cc.on_congestion(&cfg, Time::ZERO, CongestionEvent::RtoRepeat, before, MSS);
    assert_eq!((cc.cwnd(), cc.ssthresh()), (u64::from(MSS), before / 2), "the same data again");
}

#[test]
fn after_an_error_the_law_is_not_asked_again_and_the_first_one_is_reported() {
    let (cfg, mut cc, failures) = sender(Time::from_millis(30));
    acks(&cfg, &mut cc, 29, true);
    let before = cc.cwnd();
    acks(&cfg, &mut cc, 60, false);
    cc.on_congestion(&cfg, Time::ZERO, CongestionEvent::Loss, before, MSS);
    assert_eq!(cc.cwnd(), before);
    let (flow, at) = ("the flow".to_owned(), Time::from_millis(30));
    assert_eq!(failures.first(), Some(&LawFailure { flow, at, error: LawError("on purpose".into()) }));
}

#[test]
fn a_timer_in_the_past_is_an_error_and_one_that_is_left_is_none() {
    let (_, mut cc, failures) = sender(Time::MAX);
    let at = Time::from_millis;
    let mut set = |now, timer| {
        cc.ask(now, MSS, |_, window| {
            window.timer = timer;
            Ok(())
        });
        cc.timer()
    };
    assert_eq!(set(at(1), at(3)), at(3));
    assert_eq!(set(at(3), at(3)), at(3), "an ACK at the time of the timer comes before it");
    assert!(failures.first().is_none());
    assert!(set(at(3), at(2)).is_never(), "the law is not asked again");
    let expected = "the timer is set to 0.002 s; it must be later than now, 0.003 s";
    assert_eq!(failures.first().map(|failure| failure.error.0.as_str()), Some(expected));
}

#[test]
fn a_window_that_is_no_number_is_an_error_and_one_below_a_segment_is_a_segment() {
    for (cwnd, wrong) in [(f64::NAN, true), (-1.0, true), (0.0, false), (f64::INFINITY, false)] {
        let window = Window::new(cwnd, f64::INFINITY);
        assert_eq!(window.check().is_err(), wrong, "{cwnd}");
        assert!(wrong || whole(&window, MSS).cwnd >= MSS);
    }
}

#[test]
fn the_id_of_a_law_is_32_hexadecimal_digits_in_json() {
    let law = WindowLawKind::External { code: LawId(0xabc), random: true };
    let text = serde_json::to_string(&law).unwrap();
    assert_eq!(text, r#"{"external":{"code":"00000000000000000000000000000abc","random":true}}"#);
    assert_eq!(serde_json::from_str::<WindowLawKind>(&text).unwrap(), law);
    for wrong in ["abc", "+0000000000000000000000000000abc", "0000000000000000000000000000000g"] {
        assert!(wrong.parse::<LawId>().is_err(), "{wrong}");
    }
}

#[test]
fn a_window_is_read_as_it_was_made() {
    let window = Window::new(5000.0, 7000.0);
    assert_eq!([window.cwnd_bytes(), window.ssthresh_bytes()].map(f64::to_bits), [5000.0, 7000.0].map(f64::to_bits));
    assert_eq!((window.pacing_rate_bps, window.timer), (None, Time::MAX));
}
