//! The example test cases of draft-ietf-ccwg-bbr-06, appendix A, in the order of the appendix, and tests of other
//! rules. Single rules are tested with ACKs made by hand, on a path of one packet per millisecond and a round trip of
//! 40 ms; the others on a simulated path.

mod by_hand;
mod flow;
mod marks;
mod path;
mod paths;

use super::*;
use crate::config::Bbr3Rules;
use crate::Profile;
use rand::{Rng as _, SeedableRng};

const MSS: u64 = 1500;

/// A window of `cwnd` bytes.
fn window(cwnd: u64) -> Windows {
    Windows { cwnd: cwnd as u32, ssthresh: u32::MAX }
}
