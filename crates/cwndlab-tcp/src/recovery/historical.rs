//! The recoveries of ns-2's agents of 1998 with SACK. Reno's and NewReno's differ from today's in a few rules, which are in
//! their files.

mod fack_1998;
mod sack_1998;

pub(super) use fack_1998::Fack1998;
pub(super) use sack_1998::Sack1998;
