//! Short paths for the most frequent cases. A short path has the same effect as the full path, with fewer tests.
//! `comparison` compares the two on random connections. A short path is kept if it saves at least 10 % of the instructions
//! in some row of `make bench`, or if that row would otherwise exceed its limit (docs/decisions/one-writer.md).
//!
//! Additional instructions per hop when one path alone is switched off, in the row where this costs most (November 2026):
//!
//! | path | where | saves |
//! |---|---|---|
//! | header prediction | `ack.rs`, `take_expected` | 13 % of `fq-codel-cell`, 6 % of `50x100M` |
//! | an ACK after which only the window grows | `ack.rs`, `take_calm_ack` | 11 % of `50x100M` |
//! | such an ACK, with RACK's records of segments | `ack.rs`, `take_calm_ack_by_record` | 11 % of `fq-codel-cell` |
//! | data that acknowledges nothing, with RACK | `ack.rs`, `is_unreported` | 19 % of `fq-codel-cell` |
//! | prediction of what to send from a few fields | `gate.rs`, `gate` | 23 % of `50x100M` |
//! | a segment returned as a header | `poll.rs`, `poll_quick` | 14 % of `50x100M` |
//! | the same, if the pacer permits it | `poll.rs`, `poll_paced` | 13 % of `8-bbr3` |
//! | an ACK with RACK's records, for laws that need its report | `ack.rs`, `take_calm_ack_by_record` | 9 % of `8-prague`, 8 % of `8-bbr3` |
//! | new data while data is missing, if the connection paces | `gate.rs`, `gate_in_disorder` | 4 % of `8-bbr3` |
//! | segments with AccECN's option | `ack.rs`, `is_expected_accurate` | 28 % of `8-prague` |
//! | the next full segment at an end at rest | `receive.rs`, `take_at_rest` | 9 % of `8-cubic`, next to a path of the receiver alone |
//! | segments sent with AccECN's option | `poll.rs`, `poll_accurate` | 7 % of `8-prague` |

mod ack;
#[cfg(test)]
pub(super) mod comparison;
mod poll;
mod receive;

pub use poll::{Polled, Quick};
pub(super) use receive::Rest;
