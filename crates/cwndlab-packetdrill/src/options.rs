//! packetdrill's own options (`--name=value`) that a script may contain.

use crate::error::{unsupported, wrong, Result, LONGEST_S};
use cwndlab_units::Time;

/// Options without effect on a run here: they concern addresses, interfaces, and how packetdrill runs and prints.
const WITHOUT_EFFECT: [&str; 16] = [
    "bind_port",
    "code_command",
    "code_format",
    "code_sockopt",
    "connect_port",
    "remote_ip",
    "local_ip",
    "gateway_ip",
    "netmask_ip",
    "speed",
    "send_omit_free",
    "is_anyip",
    "debug",
    "verbose",
    "dry_run",
    "psp_udp_port",
];
const IPV4_HEADERS: u32 = 40;
const IPV6_HEADERS: u32 = 60;
const DEFAULT_MTU: u32 = 1500;

/// How far an event may be from its stated time: the larger of an absolute and a relative tolerance.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Tolerance {
    pub least: Time,
    /// Percentage of the time since the previous event.
    pub percent: f64,
}

/// packetdrill's defaults.
impl Default for Tolerance {
    fn default() -> Self {
        Tolerance { least: Time::from_micros(4_000), percent: 12.5 }
    }
}

impl Tolerance {
    /// The tolerance for an event `span` after the previous one.
    pub fn over(self, span: Time) -> Time {
        self.least.max(Time::from_secs_f64(span.as_secs_f64() * self.percent / 100.0))
    }
}

/// The settings made by a script's options.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct ToolOptions {
    pub tolerance: Tolerance,
    /// Microseconds per tick of TS val. With 0, TS val is not compared, as in packetdrill.
    pub timestamp_tick_us: u32,
    /// Whether an echoed timestamp (TS ecr) that was never sent is interpolated. Otherwise it is an error.
    pub echo_scaled: bool,
    /// Whether an expected segment must be a single segment. Otherwise several contiguous segments may form it.
    pub strict_segments: bool,
    /// Whether advertised windows are not compared.
    pub ignore_windows: bool,
    /// If set, an injected segment that is larger than this size arrives as several segments of this size, which a
    /// kernel would have merged on arrival (GRO).
    pub merged_from: Option<u32>,
    mtu: Option<u32>,
    ipv6: bool,
}

impl ToolOptions {
    /// The MSS according to the script's MTU and IP version; `None` if it states neither.
    pub fn mss(&self) -> Option<u32> {
        let headers = if self.ipv6 { IPV6_HEADERS } else { IPV4_HEADERS };
        (self.ipv6 || self.mtu.is_some()).then(|| self.mtu.unwrap_or(DEFAULT_MTU) - headers)
    }

    /// Applies one option.
    pub fn set(&mut self, line: usize, option: &str) -> Result<()> {
        let Some(setting) = option.strip_prefix("--") else {
            return wrong(line, format!("expected --name=value, found {option:?}"));
        };
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        let value = value.trim();
        match name {
            "tolerance_usecs" => match value.parse::<u64>() {
                Ok(us) if us <= LONGEST_S * 1_000_000 => self.tolerance.least = Time::from_micros(us),
                _ => return wrong(line, format!("{option}: expected microseconds, as in --tolerance_usecs=4000")),
            },
            "tolerance_percent" => match value.parse() {
                Ok(percent) if (0.0..=100.0).contains(&percent) => self.tolerance.percent = percent,
                _ => return wrong(line, format!("{option}: expected 0 to 100, as in --tolerance_percent=12.5")),
            },
            "tcp_ts_tick_usecs" => match value.parse() {
                Ok(us) if us <= 1_000_000 => self.timestamp_tick_us = us,
                _ => {
                    let range = "expected 0 to 1000000 microseconds, as in --tcp_ts_tick_usecs=1000";
                    return wrong(line, format!("{option}: {range}"));
                }
            },
            "mtu" => match value.parse() {
                Ok(bytes) if (IPV6_HEADERS + 8..=65_535).contains(&bytes) => self.mtu = Some(bytes),
                _ => return wrong(line, format!("{option}: expected 68 to 65535 bytes, as in --mtu=1500")),
            },
            "mss" => match value.parse() {
                Ok(bytes) if (1..=65_535).contains(&bytes) => self.merged_from = Some(bytes),
                _ => return wrong(line, format!("{option}: expected 1 to 65535 bytes, as in --mss=1000")),
            },
            "ip_version" => match value {
                "ipv4" | "ipv4-mapped-ipv6" => self.ipv6 = false,
                "ipv6" => self.ipv6 = true,
                _ => return wrong(line, format!("{option}: expected ipv4, ipv4-mapped-ipv6 or ipv6")),
            },
            "tcp_ts_ecr_scaled" => self.echo_scaled = true,
            "strict_segments" => self.strict_segments = true,
            name if WITHOUT_EFFECT.contains(&name) => {}
            name => return unsupported(line, format!("option --{name} is not supported")),
        }
        Ok(())
    }
}
