//! What commands and socket options mean to the endpoint's knobs.

use cwndlab_tcp::{EcnKind, Profile, RecoveryKind, TcpConfig, WindowLawKind};

/// What scripts run against: a profile's TCP. Those for `linux-6` were written on kernels, whose timers tick: HZ = 1000 unless
/// said otherwise, 0 for timers to the nanosecond.
#[must_use]
pub fn config(profile: Profile, hz: Option<u32>) -> TcpConfig {
    let mut cfg = profile.config();
    cfg.rto.timer_hz = hz.unwrap_or(if profile == Profile::Linux6 { 1000 } else { cfg.rto.timer_hz });
    cfg
}

/// A knob that a `sysctl` sets; anything else is the kernel's own business and is ignored.
fn sysctl(cfg: &mut TcpConfig, name: &str, value: &str) -> Result<(), String> {
    let on = value.trim() != "0";
    match name {
        "tcp_sack" => {
            cfg.sack = on;
            if !on {
                cfg.recovery = RecoveryKind::NewReno;
            }
        }
        "tcp_frto" => cfg.f_rto = on,
        "tcp_timestamps" => cfg.timestamps = on,
        "tcp_ecn" => {
            cfg.ecn = match value.trim() {
                "0" => EcnKind::Off,
                "1" => EcnKind::Rfc3168,
                _ => EcnKind::Accept,
            }
        }
        "tcp_window_scaling" => cfg.window_scale = on,
        "tcp_slow_start_after_idle" => cfg.restart_after_idle = on,
        "tcp_reordering" => cfg.dup_thresh = value.trim().parse().unwrap_or(cfg.dup_thresh),
        "tcp_congestion_control" => {
            return congestion_control(cfg, value.trim().trim_matches('"'));
        }
        "tcp_rmem" => {
            // min, default, max: the window scale follows from the largest.
            if let Some(Ok(largest)) = value.split_whitespace().nth(2).map(str::parse::<u64>) {
                cfg.receive_buffer_bytes = largest;
            }
        }
        _ => {}
    }
    Ok(())
}

/// The window law by the kernel's name of it.
pub(crate) fn congestion_control(cfg: &mut TcpConfig, name: &str) -> Result<(), String> {
    cfg.window_law = match name {
        "cubic" => WindowLawKind::CubicLinux,
        "reno" => WindowLawKind::Reno,
        "dctcp" => {
            cfg.ecn = EcnKind::Dctcp; // the kernel's asks for ECN by itself
            WindowLawKind::Dctcp
        }
        _ => return Err(format!("congestion control {name:?} is not available here: only cubic, reno and dctcp")),
    };
    Ok(())
}

/// Takes the settings out of a shell command; whether from now on the interface's queue takes segments, if it says so.
pub(crate) fn command(cfg: &mut TcpConfig, text: &str) -> Result<Option<bool>, String> {
    let mut takes = None;
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        if line.contains("defaults.sh") {
            defaults(cfg);
        }
        if let Some((_, queue)) = line.split_once("tc qdisc ").and_then(|(_, rest)| rest.split_once(" root ")) {
            // of what is behind a queue's name, two things concern the endpoint: fq paces, and no room takes nothing
            let words: Vec<&str> = queue.split_whitespace().collect();
            cfg.pacing = words.first() == Some(&"fq");
            takes = Some(!words.windows(2).any(|pair| pair == ["limit", "0"]));
        }
        if line.contains("sysctl") || line.contains("/proc/sys") {
            assignments(cfg, line)?;
        }
    }
    Ok(takes)
}

/// `net.ipv4.tcp_sack=1`, `net/ipv4/tcp_sack = 1`, `/proc/sys/net/ipv4/tcp_sack=1`, any number of them.
fn assignments(cfg: &mut TcpConfig, line: &str) -> Result<(), String> {
    let line = line.replace('/', ".").replace(" = ", "=");
    for (at, _) in line.match_indices("ipv4.") {
        let rest = &line[at + "ipv4.".len()..];
        if let Some((name, value)) = rest.split_once('=') {
            let value = match value.strip_prefix('"').or_else(|| value.strip_prefix('\'')) {
                Some(quoted) => quoted.split(['"', '\'']).next(),
                None => value.split_whitespace().next(),
            };
            sysctl(cfg, name.trim(), value.unwrap_or_default().trim_end_matches(['`', ';']))?;
        }
    }
    Ok(())
}

/// What the public collection's `defaults.sh` sets beyond the profile.
fn defaults(cfg: &mut TcpConfig) {
    cfg.restart_after_idle = false;
    cfg.receive_buffer_bytes = 15 << 20;
}
