//! Runs TCP scripts in packetdrill's syntax against the laboratory's own endpoint, in virtual time, and names the first
//! line that fails, as packetdrill does.
//!
//! A script is a list of events, each with a time: a system call, a segment injected into the endpoint (`<`), a segment
//! expected from it (`>`), an assertion on `tcp_info` (`%{ … }%`) or a command. Numbers are relative: both initial
//! sequence numbers count as 0, and timestamps count from the first one that the script names.
//!
//! Differences from packetdrill on a kernel, all by design:
//! - The endpoint sends single segments where a kernel passes the tool several as one large segment (TSO). An expected
//!   segment may therefore be several segments of the endpoint, which must be contiguous and sent within the tolerance.
//! - PSH is not compared: it depends on where the kernel ends these large segments.
//! - Commands are not run. A setting (`sysctl`) for which the endpoint has a knob sets this knob ([`settings`]), and a
//!   setting without effect on what is sent is ignored. Other settings and commands are rejected as not supported,
//!   except for a few that rarely matter, which the message of a later failure mentions.
//!
//! ```
//! let script = "
//!     0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
//!     +0 bind(3, ..., ...) = 0
//!     +0 listen(3, 1) = 0
//!     +0 < S 0:0(0) win 65535 <mss 1000,sackOK>
//!     +0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK>
//!     +.1 < . 1:1(0) ack 2 win 65535
//!     +0 accept(3, ..., ...) = 4
//! ";
//! let config = cwndlab_packetdrill::config(cwndlab_tcp::Profile::Linux6, None);
//! let error = cwndlab_packetdrill::run(script, &config).unwrap_err();
//! assert!(error.to_string().contains("accept"), "{error}");
//! ```
#![forbid(unsafe_code)]

mod arguments;
mod calls;
mod compare;
mod error;
mod info;
mod machine;
mod number;
mod options;
mod parse;
mod python;
mod run;
mod script;
mod segment;
mod settings;
mod socket;
mod sockopt;
mod state;
mod sysctl;
mod timestamps;

pub use error::ScriptError;
pub use run::{run, run_with, Strictness};
pub use settings::config;
