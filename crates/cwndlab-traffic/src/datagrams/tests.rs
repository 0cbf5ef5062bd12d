mod distributions;

use cwndlab_units::Time;

use crate::ecn::EcnField;
use crate::event::{Command, Event, Side};
use crate::testing::app;

/// Times (ns) and sizes (bytes) of the packets sent before `until`.
fn sent(json: &str, until: Time) -> Vec<(u64, u32)> {
    let mut app = app(json, 7).unwrap();
    let mut found = Vec::new();
    let (mut now, mut event) = (Time::ZERO, Event::Start);
    loop {
        let (mut commands, mut timer) = (Vec::new(), None);
        app.handle(now, event, &mut commands);
        for command in commands {
            match command {
                Command::Send { bytes, payload, .. } => {
                    assert_eq!(payload, bytes - 28);
                    found.push((now.as_nanos(), bytes));
                }
                Command::Timer { at } => timer = Some(at),
                Command::Open { conn: 0 } => {}
                other => panic!("{other:?}"),
            }
        }
        match timer {
            Some(at) if at < until => (now, event) = (at, Event::Timer),
            _ => return found,
        }
    }
}

/// Mean rate of `packets` over `time`, in bit/s.
fn rate(packets: &[(u64, u32)], time: Time) -> f64 {
    packets.iter().map(|&(_, bytes)| 8.0 * f64::from(bytes)).sum::<f64>() / time.as_secs_f64()
}

#[test]
fn constant_bit_rate_keeps_its_rate_without_drift() {
    // 12,000 bits at 7 Mb/s are 1,714,285 5/7 ns
    let packets = sent(r#"{"kind": "cbr", "rate_bps": 7000000}"#, Time::from_secs(60));
    assert_eq!(packets[..3], [(0, 1500), (1_714_285, 1500), (3_428_571, 1500)]);
    assert_eq!(packets[7000], (12_000_000_000, 1500));
    assert_eq!(packets.len(), 35_000);
}

#[test]
fn it_starts_and_ends_when_it_is_asked_to() {
    let packets = sent(
        r#"{"kind": "cbr", "rate_bps": 12000000, "first_s": {"kind": "fixed", "value": 2},
            "duration_s": {"kind": "fixed", "value": 0.003}}"#,
        Time::from_secs(60),
    );
    let times: Vec<u64> = packets.iter().map(|&(at, _)| at).collect();
    assert_eq!(times, [2_000_000_000, 2_001_000_000, 2_002_000_000]);
}

#[test]
fn bursts_and_silences_alternate() {
    let packets = sent(
        r#"{"kind": "on-off", "rate_bps": 12000000, "on_s": {"kind": "fixed", "value": 0.0025},
            "off_s": {"kind": "fixed", "value": 0.01}}"#,
        Time::from_millis(26),
    );
    let times: Vec<u64> = packets.iter().map(|&(at, _)| at / 1000).collect();
    assert_eq!(times, [0, 1000, 2000, 12_500, 13_500, 14_500, 25_000]);
}

#[test]
fn a_burst_shorter_than_a_packet_has_one_and_time_goes_on() {
    let packets = sent(
        r#"{"kind": "on-off", "rate_bps": 12000000, "on_s": {"kind": "fixed", "value": 0},
            "off_s": {"kind": "fixed", "value": 0}}"#,
        Time::from_millis(3),
    );
    assert_eq!(packets.iter().map(|&(at, _)| at / 1000).collect::<Vec<_>>(), [0, 1000, 2000]);
}

#[test]
fn exponential_bursts_have_the_mean_rate_of_their_share_of_time() {
    let time = Time::from_secs(20_000);
    let packets = sent(
        r#"{"kind": "on-off", "rate_bps": 64000, "packet_bytes": {"kind": "fixed", "value": 200},
            "on_s": {"kind": "exponential", "mean": 1.0}, "off_s": {"kind": "exponential", "mean": 1.5}}"#,
        time,
    );
    // A burst of length x has ceil(x / 25 ms) packets, on average half a packet more than x / 25 ms. A burst, 1 s
    // on average, therefore sends what 1.0125 s at the full rate send. A burst and its pause take 2.5 s on average.
    let want = 64_000.0 * 1.0125 / 2.5;
    assert!((rate(&packets, time) / want - 1.0).abs() < 0.04, "{} {want}", rate(&packets, time));
}

#[test]
fn poisson_gaps_have_the_rate_and_the_variance_of_the_exponential() {
    let time = Time::from_secs(1000);
    let packets = sent(r#"{"kind": "poisson", "rate_bps": 1200000}"#, time);
    assert!((rate(&packets, time) / 1.2e6 - 1.0).abs() < 0.013); // four standard errors of 100,000 packets
    let gaps: Vec<f64> = packets.windows(2).map(|pair| (pair[1].0 - pair[0].0) as f64 / 1e7).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / gaps.len() as f64;
    assert!((variance / (mean * mean) - 1.0).abs() < 0.04, "{variance}");
}

#[test]
fn the_senders_end_and_codepoint_are_those_asked_for() {
    let mut app = app(r#"{"kind": "cbr", "rate_bps": 8000, "ecn": "ect1", "from": "server"}"#, 1).unwrap();
    let mut commands = Vec::new();
    app.handle(Time::ZERO, Event::Start, &mut commands);
    let send = Command::Send { conn: 0, side: Side::Server, bytes: 1500, payload: 1472, ecn: EcnField::Ect1 };
    assert_eq!(commands[..2], [Command::Open { conn: 0 }, send]);
}

#[test]
fn impossible_rates_and_packets_are_rejected() {
    let wrong =
        |json: &str| serde_json::from_str::<crate::AppSpec>(json).unwrap().check(&std::collections::BTreeMap::new());
    assert_eq!(
        wrong(r#"{"kind": "cbr", "rate_bps": 0}"#).unwrap_err().to_string(),
        "cbr: rate is 0 bit/s; it must be at least 8 bit/s and at most 400 Gbit/s"
    );
    assert_eq!(
        wrong(r#"{"kind": "poisson", "rate_bps": 8, "packet_bytes": {"kind": "fixed", "value": 28}}"#)
            .unwrap_err()
            .to_string(),
        "poisson: packet is 28 bytes; an IP packet with a UDP header has 29 to 65535 bytes"
    );
}

#[test]
fn a_voice_call_has_a_packet_of_g711_every_20_ms() {
    let packets = sent(r#"{"kind": "voip"}"#, Time::from_secs(10));
    assert_eq!(packets[..3], [(0, 200), (20_000_000, 200), (40_000_000, 200)]);
    assert_eq!(packets.len(), 500); // 80 kb/s of IP packets
}

#[test]
fn silence_suppression_sends_talkspurts_of_whole_packets() {
    let packets = sent(
        r#"{"kind": "voip", "packet_bytes": {"kind": "fixed", "value": 60}, "talk_s": {"kind": "fixed", "value": 0.05},
            "silence_s": {"kind": "fixed", "value": 0.1}}"#,
        Time::from_millis(200),
    );
    let times: Vec<u64> = packets.iter().map(|&(at, _)| at / 1_000_000).collect();
    assert_eq!(times, [0, 20, 40, 160, 180]); // 60 ms of speech, 100 ms of silence
    assert!(packets.iter().all(|&(_, bytes)| bytes == 60));
}

#[test]
fn frames_without_scatter_are_cut_into_packets_that_share_the_time_to_the_next() {
    let json = |shaped: bool| {
        format!(
            r#"{{"kind": "video", "encoded_rate_bps": 700000, "frame_rate": 25, "size_scale": 0, "interval_scale": 0,
                "shaped": {shaped}}}"#
        )
    };
    let want: [(u64, u32); 5] = [(0, 1040), (10, 1040), (20, 1040), (30, 540), (40, 1040)];
    let packets = sent(&json(true), Time::from_millis(41));
    assert_eq!(packets, want.map(|(ms, bytes)| (1_000_000 * ms, bytes))); // frames of 3500 bytes
    let at_once = sent(&json(false), Time::from_millis(39));
    assert_eq!(at_once, [1040, 1040, 1040, 540].map(|bytes| (0, bytes)));
}

#[test]
fn video_has_its_rate_and_the_scatter_of_the_laplace_distribution() {
    let time = Time::from_secs(4000);
    let packets = sent(
        r#"{"kind": "video", "encoded_rate_bps": 1200000, "shaped": false,
            "packet_bytes": {"kind": "fixed", "value": 60000}}"#,
        time,
    );
    let (frames, mean) = (packets.len() as f64, 5000.0);
    let sizes: Vec<f64> = packets.iter().map(|&(_, bytes)| f64::from(bytes - 40)).collect();
    // a Laplace variable of scale b has the variance 2 b^2; 120,000 frames: four standard errors are 0.25 %
    assert!((frames / (30.0 * time.as_secs_f64()) - 1.0).abs() < 0.0025, "{frames}");
    assert!((sizes.iter().sum::<f64>() / frames / mean - 1.0).abs() < 0.0025);
    let variance = sizes.iter().map(|size| cwndlab_units::power(size / mean - 1.0, 2)).sum::<f64>() / frames;
    assert!((variance / (2.0 * 0.15 * 0.15) - 1.0).abs() < 0.03, "{variance}");
}

#[test]
fn impossible_calls_are_rejected() {
    let wrong = |json: &str| {
        let spec = serde_json::from_str::<crate::AppSpec>(json).unwrap();
        spec.check(&std::collections::BTreeMap::new()).unwrap_err().to_string()
    };
    let talk = r#"{"kind": "voip", "talk_s": {"kind": "fixed", "value": 1}}"#;
    assert!(wrong(talk).contains("needs both `talk` and `silence`"));
    let small = r#"{"kind": "voip", "packet_bytes": {"kind": "fixed", "value": 40}}"#;
    assert!(wrong(small).contains("an IP packet with UDP and RTP headers has 41 to 65535 bytes"));
    assert!(wrong(r#"{"kind": "voip", "interval_s": {"kind": "fixed", "value": 0}}"#).contains("at least 10 us"));
    assert!(wrong(r#"{"kind": "video", "encoded_rate_bps": 1000, "frame_rate": 0}"#).contains("frame_rate is 0"));
    assert!(wrong(r#"{"kind": "video", "encoded_rate_bps": 1000, "size_scale": 0.6}"#).contains("size_scale is 0.6"));
}
