//! Translates commands to the endpoint's knobs.

use crate::sysctl::{self, Setting};
use cwndlab_tcp::{CubicConfig, EcnKind, Profile, ReceiveTuning, RecoveryConfig, TcpConfig, TrainKind, WindowLawKind};

/// The configuration against which scripts run: that of a profile, with timers that tick `hz` times a second. An `hz`
/// of 0 means timers with a resolution of a nanosecond. The default is the profile's, but 1000 for `linux-6`, whose
/// scripts were written on kernels with HZ = 1000. `linux-6` has the kernel's details, too.
#[must_use]
pub fn config(profile: Profile, hz: Option<u32>) -> TcpConfig {
    let mut cfg = profile.config();
    cfg.linux_details |= profile == Profile::Linux6;
    if profile == Profile::Linux6 {
        cfg.trains = TrainKind::Linux; // the interface of a script has segmentation offload
    }
    cfg.rto.timer_hz = hz.unwrap_or(if profile == Profile::Linux6 { 1000 } else { cfg.rto.timer_hz });
    cfg
}

/// Sets the congestion control that has this name in the Linux kernel.
pub(crate) fn congestion_control(cfg: &mut TcpConfig, name: &str) -> Result<(), String> {
    cfg.window_law = match name {
        "cubic" => WindowLawKind::CubicLinux(CubicConfig { fast_convergence: true }),
        "reno" => WindowLawKind::Reno,
        "bbr" => WindowLawKind::Bbr1, // the mainline kernel's version
        "dctcp" => {
            cfg.ecn = EcnKind::Dctcp; // the kernel's DCTCP turns ECN on by itself
            WindowLawKind::Dctcp
        }
        _ => return Err(format!("congestion control {name:?} is not supported: only bbr, cubic, dctcp and reno")),
    };
    Ok(())
}

/// The effects of a command apart from the knobs that it sets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Effect {
    /// Whether the interface's queue accepts segments from now on, if the command sets this.
    pub queue_takes: Option<bool>,
    /// The receive buffer that the command sets, in bytes. If it is set, the advertised window depends on the script's
    /// reads, as BSD's scripts expect.
    pub receive_buffer: Option<u64>,
    /// Settings without a knob that may change what is sent.
    pub unset: Vec<String>,
}

/// Applies the settings in a shell command. The error names the part that is not supported.
pub(crate) fn command(cfg: &mut TcpConfig, text: &str) -> Result<Effect, String> {
    let mut effect = Effect::default();
    for words in simple_commands(text) {
        let Some((program, arguments)) = words.split_first() else { continue };
        match program.rsplit('/').next().unwrap_or_default() {
            "defaults.sh" => defaults(cfg),
            "sysctl" | "set_sysctls.py" => {
                for setting in arguments.iter().filter(|word| !word.starts_with('-')) {
                    set(cfg, &mut effect, setting)?;
                }
            }
            "echo" => echo(cfg, &mut effect, arguments)?,
            "tc" => queue(cfg, &mut effect, arguments)?,
            // Without offloads of the interface, Linux cuts the same trains itself.
            "ethtool"
                if arguments
                    .iter()
                    .skip(2)
                    .all(|w| matches!(w.as_str(), "tso" | "gso" | "gro" | "lro" | "on" | "off")) => {}
            // The kernel's cache of metrics of earlier connections is always empty here.
            "ip" if arguments.iter().any(|word| word == "tcp_metrics") => {}
            "true" | "nstat" => {}
            program if program.starts_with("sysctl_restore") => {}
            program => {
                let found = if program == "ip" { format!("ip {}", arguments.join(" ")) } else { program.to_string() };
                return Err(format!("command {found:?} is not supported: of commands only settings are followed"));
            }
        }
    }
    Ok(effect)
}

/// Applies a setting `name=value`.
fn set(cfg: &mut TcpConfig, effect: &mut Effect, setting: &str) -> Result<(), String> {
    let Some((name, value)) = setting.split_once('=') else {
        return Err(format!("expected sysctl name=value, found {setting:?}"));
    };
    match sysctl::set(cfg, name.trim(), value.trim())? {
        Setting::Taken => {}
        Setting::ReceiveBuffer(bytes) => effect.receive_buffer = Some(bytes),
        Setting::MayMatter => effect.unset.push(format!("{}={value}", name.rsplit(['.', '/']).next().unwrap_or(name))),
    }
    Ok(())
}

/// Applies the setting in `echo value > file`.
fn echo(cfg: &mut TcpConfig, effect: &mut Effect, arguments: &[String]) -> Result<(), String> {
    let [value, arrow, file] = arguments else { return Ok(()) };
    match (arrow.as_str(), file.strip_prefix("/proc/sys/")) {
        (">", Some(name)) => set(cfg, effect, &format!("{name}={value}")),
        // 3 turns on both of HyStart's rules, which is the kernel's default.
        (">", None) if file.ends_with("tcp_cubic/parameters/hystart_detect") && value == "3" => Ok(()),
        (">", None) if !file.starts_with("/dev/") => Err(format!("echo {value} > {file} is not supported")),
        _ => Ok(()),
    }
}

/// `tc qdisc add|replace|delete dev … root QUEUE …`: the queue `fq` turns pacing on, and a queue with limit 0 accepts
/// no segments.
fn queue(cfg: &mut TcpConfig, effect: &mut Effect, arguments: &[String]) -> Result<(), String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let at = words.iter().position(|word| *word == "root").unwrap_or(words.len());
    match (words.get(1), words.get(at + 1)) {
        (Some(&"delete" | &"del"), _) => {
            cfg.pacing = false;
            effect.queue_takes = Some(true);
        }
        (Some(&"add" | &"replace"), Some(name @ (&"fq" | &"pfifo" | &"bfifo" | &"pfifo_fast" | &"noqueue"))) => {
            cfg.pacing = *name == "fq";
            effect.queue_takes = Some(!words.windows(2).any(|pair| pair == ["limit", "0"]));
        }
        _ => return Err(format!("tc {} is not supported, only root queues fq, pfifo and bfifo", words.join(" "))),
    }
    Ok(())
}

/// Applies those settings of `defaults.sh` that differ from the profile `linux-6`. The file is part of packetdrill's
/// public collection of scripts.
fn defaults(cfg: &mut TcpConfig) {
    cfg.restart_after_idle = false;
    if let RecoveryConfig::Rack(rack) = &mut cfg.recovery {
        rack.window_validation = false; // tcp_slow_start_after_idle=0 turns this off, too
    }
    cfg.receive_tuning = ReceiveTuning::Linux { initial_bytes: 540_000, most_bytes: 15 << 20 };
    cfg.ecn = EcnKind::Off;
}

/// The commands in a shell text, each split into words. Quotes and backslashes at the end of a line are interpreted;
/// redirections to `/dev/null` and comments are removed.
fn simple_commands(text: &str) -> Vec<Vec<String>> {
    let text = text.replace("\\\n", " ").replace(" = ", "=");
    let (mut commands, mut words, mut word) = (Vec::new(), Vec::new(), String::new());
    let (mut quote, mut comment) = (None, false);
    for c in text.chars().chain(['\n']) {
        match (quote, c) {
            (_, '\n') => (quote, comment) = (None, false),
            _ if comment => continue,
            (Some(open), c) if c == open => {
                quote = None;
                continue;
            }
            (Some(_), c) => {
                word.push(c);
                continue;
            }
            (None, '"' | '\'') => {
                quote = Some(c);
                continue;
            }
            (None, '#') if word.is_empty() => {
                comment = true;
                continue;
            }
            (None, c) if !c.is_whitespace() && !matches!(c, ';' | '|') => {
                word.push(c);
                continue;
            }
            _ => {}
        }
        if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if words.last().is_some_and(|last| matches!(last.as_str(), "&&" | "&")) {
            words.pop();
            commands.push(std::mem::take(&mut words));
        }
        if matches!(c, '\n' | ';' | '|') {
            commands.push(std::mem::take(&mut words));
        }
    }
    for words in &mut commands {
        // Removes `> /dev/null`, `2>/dev/null` and `2>&1`.
        let quiet = words
            .iter()
            .position(|w| matches!(w.as_str(), ">" | "2>" | "&>"))
            .filter(|at| words.get(at + 1).is_some_and(|file| file == "/dev/null"));
        if let Some(at) = quiet {
            words.drain(at..at + 2);
        }
        words.retain(|word| !word.contains(">/dev/null") && word != "2>&1");
    }
    commands.retain(|words| !words.is_empty());
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_parted_into_words() {
        let text =
            "../common/defaults.sh\nsysctl -q a=\"1 2\" \\\n b=3 # why\ntc x 2>/dev/null ; ip y > /dev/null 2>&1";
        let expected: [&[&str]; 4] =
            [&["../common/defaults.sh"], &["sysctl", "-q", "a=1 2", "b=3"], &["tc", "x"], &["ip", "y"]];
        assert_eq!(simple_commands(text), expected);
    }

    #[test]
    fn a_queue_may_pace_or_take_nothing() {
        let mut cfg = Profile::Linux6.config();
        let takes = |cfg: &mut TcpConfig, text: &str| command(cfg, text).expect(text).queue_takes;
        assert_eq!(takes(&mut cfg, "tc qdisc replace dev tun0 root fq"), Some(true));
        assert!(cfg.pacing);
        let both = "tc qdisc delete dev tun0 root 2>/dev/null ; tc qdisc add dev tun0 root pfifo limit 0";
        assert_eq!(takes(&mut cfg, both), Some(false));
        assert!(!cfg.pacing);
        assert_eq!(takes(&mut cfg, "sysctl -q net.ipv4.tcp_sack=1"), None);
    }

    #[test]
    fn scripts_run_with_the_profile_and_for_linux_with_what_its_scripts_assume() {
        for profile in Profile::ALL {
            let mut expected = profile.config();
            if profile == Profile::Linux6 {
                (expected.linux_details, expected.trains, expected.rto.timer_hz) = (true, TrainKind::Linux, 1000);
            }
            assert_eq!(format!("{:?}", config(profile, None)), format!("{expected:?}"));
            for hz in [0, 250] {
                expected.rto.timer_hz = hz;
                assert_eq!(format!("{:?}", config(profile, Some(hz))), format!("{expected:?}"));
            }
        }
    }

    /// `tcp_cwnd_validate` of Linux 6.12 reads this setting, too.
    #[test]
    fn slow_start_after_idle_is_of_unused_windows_as_well() {
        let mut cfg = Profile::Linux6.config();
        for (text, on) in [
            ("defaults.sh", false),
            ("sysctl -q net.ipv4.tcp_slow_start_after_idle=1", true),
            ("echo 0 > /proc/sys/net/ipv4/tcp_slow_start_after_idle", false),
            ("echo 1 > /proc/sys/net/ipv4/tcp_slow_start_after_idle", true),
        ] {
            command(&mut cfg, text).expect(text);
            let RecoveryConfig::Rack(rack) = cfg.recovery else { panic!("{text}") };
            assert_eq!((cfg.restart_after_idle, rack.window_validation), (on, on), "{text}");
        }
    }

    #[test]
    fn what_no_knob_follows_is_named() {
        for (text, part) in [
            ("ip route change 192.0.2.1 dev tun0 initcwnd 11", "ip route change"),
            ("sysctl -q net.ipv4.tcp_sakc=1", "tcp_sakc"),
            ("sysctl -q net.ipv4.tcp_mtu_probing=2", "tcp_mtu_probing=2"),
            ("tc qdisc add dev tun0 root netem delay 10ms", "netem"),
            ("echo 1 > /sys/module/tcp_cubic/parameters/hystart_detect", "hystart_detect"),
            ("sockstat -4 | grep -c SYN_RCVD", "sockstat"),
            ("sleep 1", "sleep"),
        ] {
            let message = command(&mut Profile::Linux6.config(), text).expect_err(text);
            assert!(message.contains(part) && message.contains("not supported"), "{text}: {message}");
        }
    }
}
