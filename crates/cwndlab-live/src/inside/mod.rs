//! The router inside a kernel's address space: a User-Mode Linux with cwndlab's patch loads this crate as a library. A
//! process of its guest opens the devices and hands over a configuration; the kernel then calls [`cwndlab_router_run`]
//! in place of the process, with its own functions for the clock and the devices.
#![expect(unsafe_code, reason = "the kernel calls the router, and the router the kernel, through a C interface")]

use std::ffi::{c_long, c_uint, c_ulong, c_ulonglong, c_void};
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::slice;

use serde::{Deserialize, Serialize};

use crate::config::{ConfigError, RouterConfig};
use crate::router::{Host, Router, System};

/// What the process hands over, before the configuration.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Handover {
    pub host: Host,
    /// The router's time 0 on the monotonic clock.
    pub start_ns: u64,
}

impl Handover {
    /// As text, with the text of a configuration.
    pub(crate) fn with(&self, config: &str) -> String {
        format!("{}\n{config}", serde_json::to_string(self).expect("plain data"))
    }
}

/// Among the ports of [`Calls::wait`]: the router is to end.
const END: c_uint = c_uint::MAX;
/// The most ports that a wait reports at once.
const MOST_READY: usize = 64;

/// The kernel's functions, as in `arch/um/drivers/router.h` of the patched kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Calls {
    router: *mut c_void,
    now: extern "C" fn(*mut c_void) -> c_ulonglong,
    wait: extern "C" fn(*mut c_void, c_ulonglong, *mut c_uint, c_ulong) -> c_long,
    read: extern "C" fn(*mut c_void, c_uint, *mut u8, c_ulong) -> c_long,
    write: extern "C" fn(*mut c_void, c_uint, *const u8, c_ulong) -> c_long,
    drops: extern "C" fn(*mut c_void, c_uint) -> c_ulonglong,
    report: extern "C" fn(*mut c_void, *const u8, c_ulong),
}

impl System for Calls {
    fn now_ns(&self) -> u64 {
        (self.now)(self.router)
    }

    /// Inside the kernel, computing takes no time.
    fn cpu_ns(&self) -> u64 {
        0
    }

    fn wait(&mut self, until_ns: Option<u64>, ready: &mut Vec<u32>) -> io::Result<bool> {
        ready.resize(MOST_READY, 0);
        let until = until_ns.unwrap_or(u64::MAX);
        let count = (self.wait)(self.router, until, ready.as_mut_ptr(), MOST_READY as c_ulong);
        ready.truncate(count as usize);
        let to_end = ready.last() == Some(&END);
        ready.truncate(ready.len() - usize::from(to_end));
        Ok(to_end)
    }

    fn read(&mut self, port: u32, buffer: &mut [u8]) -> Option<usize> {
        let length = (self.read)(self.router, port, buffer.as_mut_ptr(), buffer.len() as c_ulong);
        usize::try_from(length).ok()
    }

    fn write(&mut self, port: u32, packet: &[u8]) -> bool {
        (self.write)(self.router, port, packet.as_ptr(), packet.len() as c_ulong) >= 0
    }

    fn drops(&mut self, port: u32) -> io::Result<u64> {
        Ok((self.drops)(self.router, port))
    }
}

/// Runs the router until it is to end, and reports its summary, or why it failed.
///
/// # Safety
///
/// `text` points to `length` bytes, which [`Handover::with`] wrote. `calls` points to functions that fulfil the contract
/// of [`System`], and write no more than they have room for.
#[no_mangle]
pub unsafe extern "C" fn cwndlab_router_run(text: *const u8, length: c_ulong, calls: *const Calls) {
    // SAFETY: the caller guarantees both pointers.
    let (text, calls) = unsafe { (slice::from_raw_parts(text, length as usize), *calls) };
    let report = panic::catch_unwind(AssertUnwindSafe(|| run(text, calls)));
    let report = report.unwrap_or_else(|_| "the router panicked".to_owned());
    (calls.report)(calls.router, report.as_ptr(), report.len() as c_ulong);
}

/// The summary, or an error.
fn run(text: &[u8], calls: Calls) -> String {
    match parse(text) {
        Err(error) => error.to_string(),
        Ok((Handover { host, start_ns }, config)) => {
            match Router::new(&config, calls, host).and_then(|router| router.run(start_ns)) {
                Ok(summary) => summary.to_line(),
                Err(error) => error.to_string(),
            }
        }
    }
}

fn parse(text: &[u8]) -> Result<(Handover, RouterConfig), ConfigError> {
    let (first, config) = text.split_at(text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len()));
    Ok((serde_json::from_slice(first)?, RouterConfig::from_json(&String::from_utf8_lossy(config))?))
}

#[cfg(test)]
mod tests;
