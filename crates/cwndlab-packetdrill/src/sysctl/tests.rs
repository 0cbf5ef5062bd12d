//! Each setting, by the knob that it moves. The values are those of Linux's `ip-sysctl` and FreeBSD's tcp(4).

use cwndlab_tcp::WindowLawKind;

use super::*;

type Change = fn(&mut TcpConfig);

/// Sets one after the other, from Linux's configuration.
fn after(settings: &[(&str, &str)]) -> Result<TcpConfig, String> {
    let mut cfg = Profile::Linux6.config();
    for (name, value) in settings {
        set(&mut cfg, name, value)?;
    }
    Ok(cfg)
}

fn rack(cfg: &mut TcpConfig) -> &mut cwndlab_tcp::RackConfig {
    let RecoveryConfig::Rack(rack) = &mut cfg.recovery else { panic!("Linux has RACK") };
    rack
}

#[test]
fn each_setting_of_linux_moves_its_knob_alone() {
    // (settings, the difference from Linux's own configuration)
    let cases: [(&[(&str, &str)], Change); 27] = [
        (&[("tcp_sack", "0")], |cfg| {
            cfg.sack = false;
            cfg.recovery = Profile::Linux6.recovery(RecoveryKind::NewReno);
        }),
        (&[("tcp_sack", "1")], |_| {}),
        (&[("tcp_frto", "0")], |cfg| rack(cfg).f_rto = false),
        (&[("tcp_frto", "0"), ("tcp_frto", "2")], |_| {}),
        (&[("tcp_timestamps", "0")], |cfg| cfg.timestamps = false),
        (&[("tcp_timestamps", "0"), ("tcp_timestamps", "1")], |_| {}),
        (&[("tcp_ecn", "0")], |cfg| cfg.ecn = EcnKind::Off),
        (&[("tcp_ecn", "1")], |cfg| cfg.ecn = EcnKind::Rfc3168),
        (&[("tcp_ecn", "0"), ("tcp_ecn", "2")], |cfg| cfg.ecn = EcnKind::Accept),
        (&[("tcp_ecn", "3")], |cfg| cfg.ecn = EcnKind::Accecn),
        (&[("tcp_ecn", "3"), ("tcp_ecn_option", "0")], |cfg| cfg.ecn = EcnKind::AccecnFlags),
        (&[("tcp_ecn", "3"), ("tcp_ecn_option", "2")], |cfg| cfg.ecn = EcnKind::Accecn),
        (&[("tcp_ecn", "1"), ("tcp_ecn_option", "0")], |cfg| cfg.ecn = EcnKind::Rfc3168),
        (&[("tcp_ecn", "1"), ("tcp_ecn_option", "1")], |cfg| cfg.ecn = EcnKind::Rfc3168),
        (&[("tcp_window_scaling", "0")], |cfg| cfg.window_scale = false),
        (&[("tcp_window_scaling", "0"), ("tcp_window_scaling", "1")], |_| {}),
        (&[("tcp_reordering", "1")], |cfg| cfg.dup_thresh = 1),
        (&[("tcp_reordering", "300")], |cfg| cfg.dup_thresh = 300),
        (&[("tcp_syn_linear_timeouts", "7")], |cfg| cfg.handshake.as_mut().unwrap().linear_timeouts = 7),
        (&[("tcp_recovery", "1")], |_| {}),
        (&[("tcp_recovery", "0")], |cfg| cfg.recovery = Profile::Linux6.recovery(RecoveryKind::Prr)),
        (&[("tcp_slow_start_after_idle", "0")], |cfg| {
            cfg.restart_after_idle = false;
            rack(cfg).window_validation = false;
        }),
        (&[("tcp_rmem", "4096 1 1073741824")], |cfg| {
            cfg.receive_tuning = ReceiveTuning::Linux { initial_bytes: 1, most_bytes: 1 << 30 };
        }),
        (&[("tcp_congestion_control", "reno")], |cfg| cfg.window_law = WindowLawKind::Reno),
        (&[("tcp_congestion_control", "bbr")], |cfg| cfg.window_law = WindowLawKind::Bbr1),
        (&[("tcp_congestion_control", "reno"), ("tcp_congestion_control", "cubic")], |_| {}),
        (&[("tcp_congestion_control", "dctcp")], |cfg| {
            (cfg.window_law, cfg.ecn) = (WindowLawKind::Dctcp, EcnKind::Dctcp);
        }),
    ];
    for (settings, change) in cases {
        for prefix in ["net.ipv4.", "net/ipv4/", "/proc/sys/net/ipv4/"] {
            let named: Vec<_> = settings.iter().map(|(name, _)| format!("{prefix}{name}")).collect();
            let named: Vec<_> = named.iter().zip(settings).map(|(name, (_, value))| (name.as_str(), *value)).collect();
            let mut expected = Profile::Linux6.config();
            change(&mut expected);
            assert_eq!(format!("{:?}", after(&named).unwrap()), format!("{expected:?}"), "{named:?}");
        }
    }
}

#[test]
fn each_setting_of_freebsd_moves_its_knob_alone() {
    let cases: [(&str, &str, Change); 14] = [
        ("sack.enable", "0", |cfg| cfg.sack = false),
        ("sack.enable", "1", |_| {}),
        ("rfc1323", "0", |cfg| (cfg.timestamps, cfg.window_scale) = (false, false)),
        ("rfc1323", "1", |_| {}),
        ("ecn.enable", "0", |cfg| cfg.ecn = EcnKind::Off),
        ("ecn.enable", "1", |cfg| cfg.ecn = EcnKind::Rfc3168),
        ("ecn.enable", "2", |cfg| cfg.ecn = EcnKind::Accept),
        ("delacktime", "40", |cfg| cfg.ack_policy = AckPolicy::Delayed { timeout_ns: Time::from_millis(40) }),
        ("rexmit_initial", "1", |cfg| cfg.rto.initial_ns = Time::from_millis(1)),
        ("recvspace", "2921", |cfg| cfg.receive_buffer_bytes = 3 * 1460), // two segments and a byte
        ("recvspace", "2920", |cfg| cfg.receive_buffer_bytes = 2 * 1460),
        ("syncookies", "1", |_| {}),
        ("icmp_may_rst", "0", |_| {}),
        ("drop_synfin", "0", |_| {}),
    ];
    for (name, value, change) in cases {
        let mut expected = Profile::Linux6.config();
        assert_eq!(expected.mss, 1460);
        change(&mut expected);
        let found = after(&[(&format!("net.inet.tcp.{name}"), value)]).unwrap();
        assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{name}={value}");
    }
}

#[test]
fn what_was_taken_says_whether_it_may_matter() {
    for (name, value, expected) in [
        ("net.ipv4.tcp_early_retrans", "0", Setting::MayMatter),
        ("net.ipv4.tcp_early_retrans", "3", Setting::Taken),
        ("net.ipv4.tcp_tso_win_divisor", "3", Setting::MayMatter),
        ("net.ipv4.tcp_dsack", "1", Setting::Taken),
        ("net.ipv4.tcp_wmem", "1 2 3", Setting::Taken),
        ("net.core.rmem_max", "5", Setting::Taken),
        ("net.inet.tcp.recvspace", "1", Setting::ReceiveBuffer(1)),
        ("net.inet.tcp.recvspace", "1073741824", Setting::ReceiveBuffer(1 << 30)),
        ("net.inet.tcp.blackhole", "0", Setting::Taken),
        ("net.inet.tcp.keepinit", "9", Setting::Taken),
    ] {
        let mut cfg = Profile::Linux6.config();
        let before = format!("{cfg:?}");
        assert_eq!(set(&mut cfg, name, value), Ok(expected), "{name}");
        if !matches!(expected, Setting::ReceiveBuffer(_)) {
            assert_eq!(format!("{cfg:?}"), before, "{name} moves no knob");
        }
    }
}

#[test]
fn values_and_names_that_no_knob_has_are_refused() {
    for (name, value) in [
        ("net.ipv4.tcp_ecn", "4"),
        ("net.ipv4.tcp_dsack", "0"),
        ("net.ipv4.tcp_reordering", "0"),
        ("net.ipv4.tcp_reordering", "301"),
        ("net.ipv4.tcp_syn_linear_timeouts", "256"),
        ("net.ipv4.tcp_recovery", "2"),
        ("net.ipv4.tcp_rmem", "4096 87380"),
        ("net.ipv4.tcp_rmem", "4096 0 6291456"),
        ("net.ipv4.tcp_rmem", "4096 1 1073741825"),
        ("net.inet.tcp.ecn.enable", "3"),
        ("net.inet.tcp.recvspace", "0"),
        ("net.inet.tcp.recvspace", "1073741825"),
        ("net.inet.tcp.rexmit_initial", "0"),
        ("net.inet.tcp.delacktime", "-1"),
        ("net.inet.tcp.blackhole", "1"),
        ("net.inet.tcp.sakc", "1"),
        ("net.inet.udp.blackhole", "0"),
        ("net.core.other", "1"),
    ] {
        assert_eq!(after(&[(name, value)]).unwrap_err(), format!("sysctl {name}={value} is not supported"));
    }
    // Linux's option of AccECN at other values, with AccECN on; and RFC 6675 without SACK.
    for settings in [
        [("net.ipv4.tcp_ecn", "3"), ("net.ipv4.tcp_ecn_option", "1")],
        [("net.ipv4.tcp_sack", "0"), ("net.ipv4.tcp_recovery", "0")],
    ] {
        assert!(after(&settings).is_err(), "{settings:?}");
    }
}
