//! Applies kernel settings (`sysctl`) that have a knob here, and accepts those without effect on what is sent. All
//! others are rejected, except for a few that rarely matter ([`Setting::MayMatter`]).

use cwndlab_tcp::{AckPolicy, EcnKind, Profile, ReceiveTuning, RecoveryConfig, RecoveryKind, TcpConfig};
use cwndlab_units::Time;

/// How a setting was handled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Setting {
    /// The setting was accepted: its knob now has the value, or the setting has no effect on what is sent.
    Taken,
    /// The script set a receive buffer of this many bytes. From now on, the advertised window shrinks as data arrives,
    /// until the script reads the data.
    ReceiveBuffer(u64),
    /// The setting is not a knob here and may change what is sent, so a failure of the script proves nothing.
    MayMatter,
}

/// Linux's settings (`net.ipv4.…`) without effect on what a connection sends here: Fast Open and MD5 are rejected where
/// they are used, send buffers and the kernel's memory are not modelled, and there are no other connections.
const WITHOUT_EFFECT: [&str; 23] = [
    "tcp_autocorking",
    "tcp_early_demux",
    "tcp_fack", // without effect since Linux 4.15
    "tcp_fastopen",
    "tcp_fastopen_blackhole_timeout_sec",
    "tcp_fastopen_cookies",
    "tcp_fastopen_key",
    "tcp_keepalive_intvl",
    "tcp_keepalive_probes",
    "tcp_keepalive_time",
    "tcp_limit_output_bytes",
    "tcp_max_orphans",
    "tcp_max_syn_backlog",
    "tcp_mem",
    "tcp_min_tso_segs", // how trains are cut does not show where segments are compared singly
    "tcp_no_metrics_save",
    "tcp_notsent_lowat",
    "tcp_syncookies",
    "tcp_tw_reuse",
    "tcp_wmem",
    "ip_local_port_range",
    "ip_no_pmtu_disc",
    "tcp_stdurg",
];

/// Linux's settings that are accepted with these values only, which describe how this endpoint behaves.
const AS_HERE: [(&str, &[&str]); 12] = [
    ("tcp_abort_on_overflow", &["0"]),
    ("tcp_dsack", &["1"]),
    ("tcp_ecn_fallback", &["1"]),
    ("tcp_moderate_rcvbuf", &["1"]),
    ("tcp_mtu_probing", &["0"]),
    ("tcp_pacing_ca_ratio", &["120"]),
    ("tcp_pacing_ss_ratio", &["200"]),
    ("tcp_retries2", &["15"]),
    ("tcp_shrink_window", &["0"]),
    ("tcp_syn_retries", &["6"]),
    ("tcp_early_retrans", &["3", "4"]),
    ("tcp_thin_linear_timeouts", &["0"]),
];

/// Linux's settings that may change what is sent, but rarely do: they concern tail loss probes, and the time for which
/// TSO defers sending.
const MAY_MATTER: [&str; 2] = ["tcp_early_retrans", "tcp_tso_win_divisor"];

/// Settings outside TCP without effect on what a connection sends here. FreeBSD's scripts set the largest buffer of a
/// socket (`maxsockbuf`), which determines FreeBSD's window scale; `--ignore-windows` skips the comparison of windows
/// and their scales.
const ELSEWHERE_WITHOUT_EFFECT: [&str; 4] =
    ["net.core.default_qdisc", "net.core.wmem_max", "net.core.rmem_max", "kern.ipc.maxsockbuf"];

/// FreeBSD's settings without effect on what a connection sends here.
const BSD_WITHOUT_EFFECT: [&str; 5] = [
    "hostcache.purgenow",
    "sendspace",
    "syncookies",
    "keepinit",
    "icmp_may_rst", // ICMP is rejected
];

/// Sets the knob of a setting named `net.ipv4.tcp_sack`, `net/ipv4/tcp_sack` or `/proc/sys/net/ipv4/tcp_sack`. The
/// error names a setting that cannot be applied.
pub(crate) fn set(cfg: &mut TcpConfig, name: &str, value: &str) -> Result<Setting, String> {
    let name = name.strip_prefix("/proc/sys/").unwrap_or(name).replace('/', ".");
    let refused = || Err(format!("sysctl {name}={value} is not supported"));
    match name.strip_prefix("net.ipv4.") {
        Some(short) => linux(cfg, short, value).unwrap_or_else(refused),
        None if name.starts_with("net.inet.") => bsd(cfg, &name, value).map_or_else(refused, Ok),
        None if ELSEWHERE_WITHOUT_EFFECT.contains(&name.as_str()) => Ok(Setting::Taken),
        None => refused(),
    }
}

fn linux(cfg: &mut TcpConfig, name: &str, value: &str) -> Option<Result<Setting, String>> {
    match name {
        "tcp_congestion_control" => {
            return Some(crate::settings::congestion_control(cfg, value).map(|()| Setting::Taken));
        }
        name if WITHOUT_EFFECT.contains(&name) => {}
        name if AS_HERE.iter().any(|(known, values)| *known == name && values.contains(&value)) => {}
        name if MAY_MATTER.contains(&name) => return Some(Ok(Setting::MayMatter)),
        _ => knob(cfg, name, value)?,
    }
    Some(Ok(Setting::Taken))
}

/// Sets a knob as one of Linux's settings says; `None` if there is no such setting or value.
fn knob(cfg: &mut TcpConfig, name: &str, value: &str) -> Option<()> {
    let on = value != "0";
    match name {
        "tcp_sack" => {
            cfg.sack = on;
            if !on {
                cfg.recovery = Profile::Linux6.recovery(RecoveryKind::NewReno);
            }
        }
        "tcp_frto" => {
            if let RecoveryConfig::Rack(rack) = &mut cfg.recovery {
                rack.f_rto = on;
            }
        }
        "tcp_timestamps" => cfg.timestamps = on,
        "tcp_ecn" => {
            cfg.ecn = match value {
                "0" => EcnKind::Off,
                "1" => EcnKind::Rfc3168,
                "2" => EcnKind::Accept,
                "3" => EcnKind::Accecn,
                _ => return None,
            }
        }
        // The kernel's scripts set tcp_ecn before this setting, so `cfg.ecn` is known here.
        "tcp_ecn_option" => match (value, cfg.ecn) {
            ("0", EcnKind::Accecn) => cfg.ecn = EcnKind::AccecnFlags,
            ("2", _) => {}
            (_, EcnKind::Accecn) => return None,
            _ => {} // AccECN is off, so its option is, too
        },
        "tcp_window_scaling" => cfg.window_scale = on,
        // The kernel reads this setting after idle times and when a window was not fully used (`tcp_cwnd_validate`).
        "tcp_slow_start_after_idle" => {
            cfg.restart_after_idle = on;
            if let RecoveryConfig::Rack(rack) = &mut cfg.recovery {
                rack.window_validation = on && cfg.grow_only_if_cwnd_limited;
            }
        }
        "tcp_reordering" => cfg.dup_thresh = value.parse().ok().filter(|n| (1..=300).contains(n))?,
        "tcp_syn_linear_timeouts" => cfg.handshake.as_mut()?.linear_timeouts = value.parse().ok()?,
        // RACK is the first bit; without it the kernel uses RFC 6675.
        "tcp_recovery" => match value {
            "1" => {}
            "0" if cfg.recovery.kind() == RecoveryKind::Rack => {
                cfg.recovery = Profile::Linux6.recovery(RecoveryKind::Prr);
            }
            _ => return None,
        },
        // The values are the minimum, the default and the maximum. The initial window and the window scale follow from
        // the last two.
        "tcp_rmem" => {
            let mut sizes = value.split_whitespace().skip(1).map(buffer);
            let (initial_bytes, most_bytes) = (sizes.next()??, sizes.next()??);
            cfg.receive_tuning = ReceiveTuning::Linux { initial_bytes, most_bytes };
        }
        _ => return None,
    }
    Some(())
}

/// Parses the size of a buffer in bytes. Returns `None` if the size is not in 1..=2^30, because no window exceeds 2^30
/// (RFC 7323, section 2.3).
fn buffer(value: &str) -> Option<u64> {
    value.parse().ok().filter(|bytes| (1..=1 << 30).contains(bytes))
}

fn bsd(cfg: &mut TcpConfig, name: &str, value: &str) -> Option<Setting> {
    match name.strip_prefix("net.inet.tcp.")? {
        "sack.enable" => cfg.sack = value != "0",
        "rfc1323" => {
            cfg.timestamps = value != "0";
            cfg.window_scale = value != "0";
        }
        "ecn.enable" => {
            cfg.ecn = match value {
                "0" => EcnKind::Off,
                "1" => EcnKind::Rfc3168,
                "2" => EcnKind::Accept,
                _ => return None,
            }
        }
        "delacktime" => {
            let timeout_ns = Time::from_millis(value.parse::<u32>().ok()?.into());
            cfg.ack_policy = AckPolicy::Delayed { timeout_ns };
        }
        // FreeBSD rounds the buffer up to whole segments.
        "recvspace" => {
            let bytes = buffer(value)?;
            cfg.receive_buffer_bytes = bytes.next_multiple_of(u64::from(cfg.mss));
            return Some(Setting::ReceiveBuffer(bytes));
        }
        "rexmit_initial" => {
            cfg.rto.initial_ns = Time::from_millis(value.parse::<u32>().ok().filter(|ms| *ms > 0)?.into());
        }
        "blackhole" | "insecure_rst" | "insecure_syn" | "drop_synfin" | "rexmit_drop_options" => {
            return (value == "0").then_some(Setting::Taken);
        }
        name if BSD_WITHOUT_EFFECT.contains(&name) => {}
        _ => return None,
    }
    Some(Setting::Taken)
}

#[cfg(test)]
mod tests;
