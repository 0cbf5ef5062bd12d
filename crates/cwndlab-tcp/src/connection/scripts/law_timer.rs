//! The timer of an external window law.

use super::*;

/// A law that sets its timer 30 ms after each ACK, and adds a segment when it expires.
#[derive(Debug)]
struct Timed;

impl CongestionControl for Timed {
    fn uses_slow_start(&self) -> bool {
        false
    }

    fn on_ack(&mut self, ack: &AckReport, _: &AfterAck, _: u64, window: &mut Window) -> Result<(), LawError> {
        window.timer = ack.now + Time::from_millis(30);
        Ok(())
    }

    fn on_loss(&mut self, _: &LossEvent, _: &mut Window) -> Result<(), LawError> {
        Ok(())
    }

    fn on_timer(&mut self, _: Time, window: &mut Window) -> Result<(), LawError> {
        window.set_cwnd_bytes(window.cwnd_bytes() + 1000.0);
        Ok(())
    }
}

/// The second ACK replaces the time that the first one set. A closed connection calls no law.
#[test]
fn law_opens_the_window_when_its_timer_expires() {
    let window_law = WindowLawKind::External { code: LawId(1), random: false };
    let cfg = TcpConfig { window_law, ..config(2) };
    let mut end = Connection::client(&cfg, ISS, Time::ZERO);
    end.attach_law(&cfg, Time::ZERO, Box::new(Timed), String::new(), LawFailures::default());
    let end = run(
        &cfg,
        end,
        "0 write 20000
        0 > data 0-1000
        0 > data 1000-2000
        0.1 < ack 1000
        0.1 > data 2000-3000
        0.12 < ack 2000
        0.12 > data 3000-4000
        0.15 > data 4000-5000
        0.2 < ack 5000
        0.2 > data 5000-6000
        0.2 > data 6000-7000
        0.2 > data 7000-8000
        0.21 abort
        0.21 > rst ack 0
        = cwnd 3000",
    );
    assert!(end.poll_timeout().is_never());
}
