//! The real-time router: packets of real Linux TCP stacks travel over the links and queues of `cwndlab-net`, which the
//! simulator uses too. In the router, the real clock drives them.
//!
//! Links and queues run in *scheduled* time: a packet enters its next link at the calculated time at which it leaves
//! the previous one, not when the router processes it. Timing errors arise only where packets are read and written, and
//! never accumulate.
//!
//! - [`header`]: the fields of IPv4 and TCP that the router reads, and the CE mark with its checksum.
//!
//! - [`network`]: links and routes in scheduled time; independent of clock and devices, so it is tested without either.
//!
//! - [`config`]: the router's configuration in JSON: a scenario, as for the simulator, and the devices of its nodes.
//!
//! - [`router`]: the loop that waits, reads, advances and writes; [`report`]: its summary at the end.
//!
//! - [`devices`]: the router in a process of its own; [`inside`]: the router inside a kernel's address space.
//!
//! - [`sys`]: system calls. Only this module and [`inside`] have `unsafe`.
//!
//! ```
//! use cwndlab_live::header::{set_ecn, Header};
//! use cwndlab_net::Ecn;
//!
//! let mut packet = [0_u8; 20];
//! (packet[0], packet[3]) = (0x45, 20);
//! set_ecn(&mut packet, Ecn::Ce);
//! assert_eq!(Header::parse(&packet).map(|header| header.ecn), Some(Ecn::Ce));
//! assert_eq!(Header::parse(&packet[..19]), None);
//! ```
#![cfg(target_os = "linux")]

mod buffers;
mod capture;
pub mod config;
mod datagrams;
pub mod devices;
pub mod header;
pub mod inside;
pub mod network;
pub mod report;
pub mod router;
pub mod sys;
mod trace;
