//! Voice and live video: senders of RTP packets that do not adapt to the network.
//!
//! Video is the steady state of the statistical model of `syncodecs` (cisco/syncodecs, `StatisticsCodec` in a
//! `ShapedPacketizer`), the code behind RFC 8593: a frame has `rate / (8 × frames per second)` bytes on average. The
//! size of a frame and the time to the next frame have Laplace distributions, and a frame's packets are spread over the
//! time to the next frame. The model's large first frames after a change of rate are left out, because the rate does
//! not change here.

use cwndlab_units::Time;
use rand::Rng as _;

use super::{drawn, VideoSpec, VoipSpec, RTP_HEADERS};
use crate::dist::{Rng, Sampler};
use crate::error::AppError;
use crate::spec::Setup;

/// One direction of a voice call.
#[derive(Clone)]
pub(super) struct Voice {
    interval: (Sampler, Rng),
    /// Lengths of talkspurts and of silences; `None` without silence suppression.
    spurts: Option<[(Sampler, Rng); 2]>,
    /// End of the current talkspurt; [`Time::MAX`] without silence suppression.
    end: Time,
}

impl Voice {
    pub(super) fn new(spec: &VoipSpec, setup: &mut Setup<'_>) -> Result<Voice, AppError> {
        let spurts = match (&spec.talk_s, &spec.silence_s) {
            (Some(talk), Some(silence)) => Some([drawn("talk_s", talk, setup)?, drawn("silence_s", silence, setup)?]),
            _ => None,
        };
        Ok(Voice { interval: drawn("interval_s", &spec.interval_s, setup)?, spurts, end: Time::MAX })
    }

    /// Begins a talkspurt.
    pub(super) fn begin(&mut self, now: Time) {
        if let Some([talk, _]) = &mut self.spurts {
            self.end = now + talk.0.draw_time(&mut talk.1);
        }
    }

    /// The departure time of the next packet, after one at `now`. A silence begins one packet interval after the last
    /// packet of the talkspurt.
    pub(super) fn after(&mut self, now: Time) -> Time {
        let next = now + self.interval.0.draw_time(&mut self.interval.1);
        match &mut self.spurts {
            Some([_, silence]) if next >= self.end => {
                let begin = next + silence.0.draw_time(&mut silence.1);
                self.begin(begin);
                begin
            }
            _ => next,
        }
    }
}

/// One direction of a video call.
#[derive(Clone)]
pub(super) struct Video {
    frame_bytes: f64,
    frame_s: f64,
    size_scale: f64,
    interval_scale: f64,
    shaped: bool,
    scatter: Rng,
    /// Bytes of the current frame that have not been sent (`left`), and the payload of a full packet (`payload`).
    left: u64,
    payload: u64,
    /// When the next frame begins.
    next_frame: Time,
}

/// Minimum time between frames, so that time advances.
const SHORTEST_FRAME_S: f64 = 1e-6;

impl Video {
    pub(super) fn new(spec: &VideoSpec, setup: &mut Setup<'_>) -> Video {
        Video {
            frame_bytes: spec.encoded_rate_bps as f64 / 8.0 / spec.frame_rate,
            frame_s: 1.0 / spec.frame_rate,
            size_scale: spec.size_scale,
            interval_scale: spec.interval_scale,
            shaped: spec.shaped,
            scatter: (setup.stream)("frames"),
            left: 0,
            payload: 1,
            next_frame: Time::ZERO,
        }
    }

    /// Bytes of the packet that is sent now, at most `most`, headers included. If the previous frame has been sent
    /// completely, the packet begins a new frame.
    pub(super) fn packet_bytes(&mut self, now: Time, most: u32) -> u32 {
        if self.left == 0 {
            let size = self.frame_bytes * (1.0 + laplace(self.size_scale, &mut self.scatter));
            let interval = self.frame_s * (1.0 + laplace(self.interval_scale, &mut self.scatter));
            self.left = size.round().max(1.0) as u64;
            self.next_frame = now + Time::from_secs_f64(interval.max(SHORTEST_FRAME_S));
        }
        self.payload = u64::from(most.saturating_sub(RTP_HEADERS)).max(1);
        let payload = self.left.min(self.payload);
        self.left -= payload;
        payload as u32 + RTP_HEADERS
    }

    /// The departure time of the next packet, after one at `now`.
    pub(super) fn after(&mut self, now: Time) -> Time {
        match self.left.div_ceil(self.payload) {
            0 => self.next_frame,
            // The frame's remaining packets, and the one just sent, share the time to the next frame.
            more if self.shaped => now + Time::from_nanos((self.next_frame - now).as_nanos() / (more + 1)),
            _ => now,
        }
    }
}

/// A value of the Laplace distribution around 0: an exponential value with a random sign.
fn laplace(scale: f64, rng: &mut Rng) -> f64 {
    let magnitude = Sampler::exponential(scale, rng);
    if rng.random::<bool>() {
        magnitude
    } else {
        -magnitude
    }
}
