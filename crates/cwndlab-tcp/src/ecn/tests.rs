use super::*;
use crate::Header;

const ASKING: [EcnKind; 5] = [EcnKind::Rfc2481, EcnKind::Rfc3168, EcnKind::Rfc3168Ect1, EcnKind::Dctcp, EcnKind::L4s];
const ALL: [EcnKind; 7] = [
    EcnKind::Off,
    EcnKind::Accept,
    EcnKind::Rfc2481,
    EcnKind::Rfc3168,
    EcnKind::Rfc3168Ect1,
    EcnKind::Dctcp,
    EcnKind::L4s,
];

fn with(flags: u8, ecn: u8) -> Segment {
    Segment::from(Header { flags: Flags(flags), ecn, len: 1000, ..Header::default() })
}

fn agreed() -> Echo {
    let mut echo = Echo::default();
    echo.set_codepoint(EcnKind::Rfc3168, ECT_0);
    echo
}

#[test]
fn a_syn_with_both_flags_and_a_syn_ack_with_ece_alone_agree() {
    let (syn, ece, cwr, ack) = (Flags::SYN.0, Flags::ECE.0, Flags::CWR.0, Flags::ACK.0);
    for kind in ALL {
        let speaks = kind != EcnKind::Off;
        let asks = ASKING.contains(&kind);
        assert_eq!(kind.agree(&with(syn | ece | cwr, 0)) != 0, speaks, "{kind:?}");
        assert_eq!(kind.agree(&with(syn | ack | ece, 0)) != 0, asks, "{kind:?}");
        for refused in [syn, syn | ece, syn | cwr, syn | ack, syn | ack | cwr, syn | ack | ece | cwr] {
            assert_eq!(kind.agree(&with(refused, 0)), 0, "{kind:?} {refused:#x}");
        }
        assert_eq!(kind.syn_flags().0, if asks { ece | cwr } else { 0 });
    }
    assert_eq!(EcnKind::Rfc2481.codepoint(), 0b10); // the ECT bit of RFC 2481 is the left one
    assert_eq!((EcnKind::Rfc3168.codepoint(), EcnKind::Rfc3168Ect1.codepoint()), (0b10, 0b01));
}

#[test]
fn the_echo_lasts_from_ce_to_cwr() {
    let mut echo = Echo::default();
    let mut seen = Vec::new();
    for (flags, ecn) in [(0, ECT_0), (0, CE), (0, ECT_0), (0, 0), (Flags::CWR.0, ECT_0), (0, ECT_0), (Flags::CWR.0, CE)]
    {
        echo.on_data_in(&with(flags, ecn));
        seen.push(echo.flags() == Flags::ECE);
    }
    assert_eq!(seen, [false, true, true, true, false, false, true]);
}

#[test]
fn an_ack_with_ece_reports_all_that_it_delivers_as_marked() {
    assert_eq!(Echo::ce_bytes(&with((Flags::ACK | Flags::ECE).0, 0), 2000), 2000);
    assert_eq!(Echo::ce_bytes(&with(Flags::ACK.0, 0), 2000), 0);
}

#[test]
fn one_reduction_for_all_echoes_and_losses_of_a_window() {
    let mut echo = agreed();
    assert!(echo.may_reduce(1, false) && !echo.covers_loss(1));
    echo.reduced(5001, true);
    assert!(!echo.may_reduce(5001, false) && echo.may_reduce(5002, false));
    assert!(echo.covers_loss(4001) && !echo.covers_loss(5001));
    echo.reduced(9001, false);
    assert!(!echo.may_reduce(9001, false) && !echo.covers_loss(8001));
    assert!(echo.may_reduce(9001, true) && !echo.may_reduce(9000, true), "Linux: the end of loss recovery");
    echo.reduced(9001, true);
    assert!(!echo.may_reduce(9001, true));
}

#[test]
fn cwr_goes_once_and_only_on_new_data_by_rfc_3168_on_any_by_rfc_2481() {
    for (kind, on_retransmission) in [(EcnKind::Rfc3168, Flags(0)), (EcnKind::Rfc2481, Flags::CWR)] {
        let mut echo = agreed();
        echo.reduced(5001, false);
        assert_eq!(echo.on_data_out(kind, true), (on_retransmission, 0));
        assert_eq!(echo.on_data_out(kind, false), (Flags(Flags::CWR.0 ^ on_retransmission.0), ECT_0));
        assert_eq!(echo.on_data_out(kind, false), (Flags(0), ECT_0));
    }
    let mut without = Echo::default();
    without.reduced(5001, false);
    assert_eq!(without.on_data_out(EcnKind::Off, false), (Flags(0), 0));
}

#[test]
fn the_echo_of_dctcp_tells_of_each_packet_and_its_changes_end_a_state() {
    let mut echo = Echo::default();
    echo.set_codepoint(EcnKind::L4s, ECT_1);
    let mut seen = Vec::new();
    for (flags, ecn) in [(0, ECT_1), (0, CE), (0, CE), (Flags::CWR.0, CE), (0, ECT_1), (0, 0)] {
        let ends = echo.state_ends(&with(flags, ecn));
        echo.on_data_in(&with(flags, ecn));
        seen.push((ends, echo.flags() == Flags::ECE));
    }
    // RFC 8257, section 3.2, figure 1: a state ends with the first packet that is marked differently, regardless of CWR
    let figure = [(false, false), (true, true), (false, true), (false, true), (true, false), (false, false)];
    assert_eq!(seen, figure);
    let mut classic = agreed();
    classic.on_data_in(&with(0, CE));
    assert!(!classic.state_ends(&with(0, ECT_0)), "RFC 3168's lasts until CWR");
    // retransmissions are ECN-capable, too (RFC 8257, section 3.5; RFC 9331, section 4.1)
    echo.reduced(5001, true);
    assert_eq!(echo.on_data_out(EcnKind::L4s, true), (Flags(0), ECT_1));
    assert_eq!(echo.on_data_out(EcnKind::L4s, false), (Flags::CWR, ECT_1));
}

/// The kinds by what they send and count: `AccECN` on the SYN, its option, each mark, and marks on SYNs, SYN-ACKs and FINs.
#[test]
fn kinds_differ_in_what_they_ask_for_send_and_count() {
    let of = |kind: EcnKind| {
        [
            kind.is_accurate(),
            kind.has_option(),
            kind.counts_marks(),
            kind.marks_syns(),
            kind.tries_syn_ack(),
            kind.marks_fin(),
        ]
        .map(u8::from)
    };
    for (kind, wanted) in [
        (EcnKind::Off, [0, 0, 0, 0, 0, 0]),
        (EcnKind::Accept, [0, 0, 0, 0, 1, 0]),
        (EcnKind::Rfc2481, [0, 0, 0, 0, 0, 1]),
        (EcnKind::Rfc3168, [0, 0, 0, 0, 1, 0]),
        (EcnKind::Rfc3168Ect1, [0, 0, 0, 0, 1, 0]),
        (EcnKind::Dctcp, [0, 0, 1, 1, 0, 0]),
        (EcnKind::L4s, [0, 0, 1, 1, 0, 0]),
        (EcnKind::Accecn, [1, 1, 1, 0, 0, 0]),
        (EcnKind::AccecnEct1, [1, 1, 1, 0, 0, 0]),
        (EcnKind::AccecnFlags, [1, 0, 1, 0, 0, 0]),
    ] {
        assert_eq!(of(kind), wanted, "{kind:?}");
    }
}
