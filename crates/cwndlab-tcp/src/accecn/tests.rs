use super::*;
use crate::Header;
use proptest::prelude::*;

const SYN: u8 = Flags::SYN.0;
const ACK: u8 = Flags::ACK.0;

fn with(flags: u8, ace: u8, ecn: u8, len: u32) -> Segment {
    Segment::from(Header { flags: Flags(flags) | Flags::of_ace(ace), ecn, len, ..Header::default() })
}

fn counted(order: u8, counters: [u32; 3]) -> AccEcnOption {
    AccEcnOption { order, fields: 3, counters }
}

fn agreed() -> AccEcn {
    AccEcn { mode: Mode::Accurate, data_acknowledged: true, ..AccEcn::default() }
}

fn progress(packets: u32) -> Progress {
    Progress {
        delivered_packets: packets,
        delivered_bytes: packets * 1000,
        mss: 1000,
        forward: true,
        exact: true,
        acked_before: 0,
    }
}

/// The number of marks reported by an ACK with this ACE field that delivers `packets` packets, if none was reported
/// before.
fn marked(ace: u8, packets: u32, option: Option<AccEcnOption>) -> u32 {
    let mut sender = AccEcn { saw_option: true, ..agreed() };
    let ack = Segment { accecn: option, ..with(ACK, ace, 0, 0) };
    sender.newly_marked(&ack, progress(packets))
}

#[test]
fn the_ace_field_is_the_number_of_its_three_flags() {
    for ace in 0..8 {
        assert_eq!(Flags::of_ace(ace).ace(), ace);
    }
    let flags = [Flags::AE, Flags::CWR, Flags::ECE].map(Flags::ace);
    assert_eq!(flags, [0b100, 0b010, 0b001]);
}

/// RFC 9768, table 2, as transcribed in the kernel: the flags of SYN and SYN-ACK, and the kind of ECN agreed on.
#[test]
fn the_handshake_agrees_by_table_2() {
    // AE CWR ECE of the SYN, and the server's mode
    let syns = [
        (0b111, Mode::Accurate),
        (0b101, Mode::Accurate),
        (0b001, Mode::Accurate),
        (0b011, Mode::Classic),
        (0, Mode::Off),
    ];
    for (ace, mode) in syns {
        assert_eq!(Mode::of_syn(Flags::of_ace(ace)), mode, "{ace:03b}");
    }
    // AE CWR ECE of the SYN-ACK, the SYN's codepoint that they report, and the client's mode
    let answers = [
        (0b010, Some(0), Mode::Accurate),
        (0b011, Some(ECT_1), Mode::Accurate),
        (0b100, Some(ECT_0), Mode::Accurate),
        (0b110, Some(CE), Mode::Accurate),
        (0b101, None, Mode::Classic), // ECN nonce
        (0b001, None, Mode::Classic),
        (0b000, None, Mode::Off),
        (0b111, None, Mode::Off), // the flags of the SYN, reflected
    ];
    for (ace, codepoint, mode) in answers {
        assert_eq!((reported(ace), Mode::of_syn_ack(Flags::of_ace(ace))), (codepoint, mode), "{ace:03b}");
        if let Some(codepoint) = codepoint {
            assert_eq!(reflected(codepoint).ace(), ace);
        }
    }
}

#[test]
fn each_end_reports_how_the_others_syn_arrived() {
    for (arrived, ace) in [(0, 0b010), (ECT_1, 0b011), (ECT_0, 0b100), (CE, 0b110)] {
        let mut server = AccEcn::default();
        server.on_syn(&with(SYN, 0b111, arrived, 0));
        assert_eq!(server.syn_ack_flags().ace(), ace);
        let mut client = AccEcn::default();
        client.on_syn(&with(SYN | ACK, 0b010, arrived, 0));
        assert_eq!(client.flags(true).ace(), ace, "the handshake's last ACK");
        assert_eq!(client.flags(true).ace(), if arrived == CE { 6 } else { 5 }, "then the counter");
    }
}

#[test]
fn a_network_that_rewrites_the_field_is_distrusted() {
    // This end's SYN has no ECN codepoint, so it cannot have arrived with one.
    for (ace, distrusted) in [(0b010, false), (0b011, true), (0b100, true), (0b110, true)] {
        let mut client = AccEcn::default();
        client.on_syn(&with(SYN | ACK, ace, 0, 0));
        assert_eq!(client.distrusted, distrusted, "{ace:03b}");
        let mut server = AccEcn::default();
        server.on_syn(&with(SYN, 0b111, 0, 0));
        server.on_third(&with(ACK, ace, 0, 0));
        assert_eq!(server.distrusted, distrusted, "{ace:03b}");
    }
    let mut cleared = AccEcn::default();
    cleared.on_syn(&with(SYN, 0b111, 0, 0));
    cleared.on_third(&with(ACK, 0, 0, 0));
    assert!(cleared.distrusted, "no end sends 000 as the handshake's last");
    assert_eq!(cleared.newly_marked(&with(ACK, 2, 0, 0), progress(3)), 0, "and no mark is believed");
    // The ACK of the first data has an ACE field of 5 or a little more, never 0.
    let mut first = AccEcn { mode: Mode::Accurate, ..AccEcn::default() };
    assert_eq!(first.newly_marked(&with(ACK, 0, 0, 0), progress(1)), 0);
    assert!(first.distrusted);
}

#[test]
fn the_field_counts_packets_with_ce_from_5_on_modulo_8() {
    let mut receiver = agreed();
    let mut fields = Vec::new();
    for ecn in [ECT_0, CE, CE, CE, ECT_0, CE] {
        receiver.on_arrival(&with(ACK, 5, ecn, 1000));
        fields.push(receiver.flags(false).ace());
    }
    assert_eq!(fields, [5, 6, 7, 0, 0, 1]);
    let sent = counted(1, [1, 4000, 2001]);
    receiver.saw_option = true;
    assert_eq!(receiver.option(0, 0), (Some(sent), 0));
}

#[test]
fn changes_of_the_codepoint_and_many_marks_draw_acks() {
    let mut receiver = agreed();
    let drawn: Vec<_> =
        [0, 0, CE, CE, 0].into_iter().map(|ecn| receiver.on_arrival(&with(ACK, 5, ecn, 1000))).collect();
    assert_eq!(drawn, [false, false, true, false, true]);
    // marked pure ACKs trigger an ACK only once six marks are unreported
    let mut receiver = agreed();
    let drawn: Vec<_> = (0..7).map(|_| receiver.on_arrival(&with(ACK, 5, CE, 0))).collect();
    assert_eq!(drawn, [false, false, false, false, false, true, true]);
}

#[test]
fn up_to_seven_packets_the_field_is_unambiguous() {
    for packets in 1..=7 {
        for marks in 0..=packets {
            assert_eq!(marked(((5 + marks) % 8) as u8, packets, None), marks);
        }
    }
}

#[test]
fn beyond_seven_packets_the_largest_number_that_fits_counts() {
    // From the kernel's test scripts tcp_accecn_delivered_largeack and _maxack: 8 and 10 segments.
    assert_eq!(marked(5, 8, None), 8);
    assert_eq!(marked(5, 7, None), 0);
    assert_eq!(marked(4, 10, None), 7, "15 would not fit");
    assert_eq!(marked(6, 10, None), 9);
}

#[test]
fn the_option_rules_the_wrap_out_or_shows_it() {
    // only ECT(0) grew: no mark among ten
    assert_eq!(marked_after_ect0(5, [10_001 + 1000, 0, 1], 10), 0);
    // of 40 packets, 16 had CE according to the bytes, and 0 modulo 8 according to the field
    assert_eq!(marked_after_ect0(5, [24_001 + 1000, 16_000, 1], 40), 16);
    // two counters grew in addition to the estimated one: ambiguous, so the bytes are ignored
    assert_eq!(marked_after_ect0(5, [23_001 + 1000, 16_000, 1001], 40), 40);
    let progress = Progress { delivered_packets: 40, delivered_bytes: 40_000, ..progress(40) };
    assert_eq!(resolve(0, 40, Some(16_000), progress), 16);
    assert_eq!(resolve(0, 40, Some(0), progress), 0);
    assert_eq!(resolve(3, 35, Some(40_000), progress), 35);
    assert_eq!(resolve(0, 40, None, progress), 40);
}

/// The kernel's `tcp_accecn_process`: for few packets, or if the number delivered is not exact, the bytes only choose
/// between the smallest and the largest number.
#[test]
fn the_bytes_of_marked_packets_choose_or_estimate() {
    let of = |packets: u32, exact: bool| Progress { exact, ..progress(packets) };
    assert_eq!(resolve(2, 10, Some(2001), of(10, true)), 10, "more than the least can carry");
    assert_eq!(resolve(2, 10, Some(2000), of(10, true)), 2);
    assert_eq!(resolve(6, 14, Some(5000), of(15, true)), 6, "less than half of what the most would carry");
    assert_eq!(resolve(6, 10, Some(5000), of(10, true)), 10, "half of it");
    assert_eq!(resolve(6, 14, Some(0), of(15, true)), 6);
    assert_eq!(resolve(0, 40, Some(16_000), of(40, false)), 40, "not known one by one");
    assert_eq!(resolve(3, 35, Some(15_999), of(40, true)), 19, "16 packets, and the field's 3");
    assert_eq!(resolve(3, 35, Some(15_000), of(40, true)), 11, "15 packets: once 8, and the field's 3");
    assert_eq!(resolve(3, 35, Some(39_000), of(40, true)), 35, "no more than fit");
    assert_eq!(resolve(3, 11, Some(5000), of(15, true)), 11, "too few to estimate from");
    assert_eq!(resolve(3, 11, Some(5000), of(16, true)), 3);
    assert_eq!(resolve(0, 16, Some(16_000), of(16, true)), 16, "all of them");
}

/// As [`marked`], after an ACK whose option showed that one packet had arrived with ECT(0). Both options have order 0.
fn marked_after_ect0(ace: u8, counters: [u32; 3], packets: u32) -> u32 {
    let mut sender = agreed();
    let first = Segment { accecn: Some(counted(0, [1001, 0, 1])), ..with(ACK, 5, 0, 0) };
    sender.newly_marked(&first, progress(1));
    assert_eq!((sender.estimated, sender.delivered_bytes), (ECT_0, [0, 1000, 0]));
    sender.newly_marked(&Segment { accecn: Some(counted(0, counters)), ..with(ACK, ace, 0, 0) }, progress(packets))
}

/// RFC 9768, table 5.
#[test]
fn the_fields_of_both_orders_count_the_same() {
    for (order, counters) in [(0, [1001, 2000, 3001]), (1, [3001, 2000, 1001])] {
        let mut sender = agreed();
        sender.newly_marked(&Segment { accecn: Some(counted(order, counters)), ..with(ACK, 5, 0, 0) }, progress(6));
        assert_eq!(sender.delivered_bytes, [3000, 1000, 2000], "ECT(1), ECT(0), CE; order {order}");
    }
}

#[test]
fn counters_wrap_at_24_bits() {
    let mut sender = agreed();
    let mut bytes = 0_u32;
    for _ in 0..20 {
        bytes += 1 << 20;
        let field = (bytes + 1) % (1 << 24);
        sender.newly_marked(&Segment { accecn: Some(counted(0, [field, 0, 1])), ..with(ACK, 5, 0, 0) }, progress(1));
    }
    assert_eq!(sender.delivered_bytes, [0, 20 << 20, 0]);
}

#[test]
fn an_option_that_begins_with_zeros_was_rewritten() {
    let mut sender = agreed();
    sender.newly_marked(&Segment { accecn: Some(counted(0, [0, 0, 0])), ..with(ACK, 5, 0, 0) }, progress(1));
    assert!(sender.option_distrusted);
    assert_eq!(sender.option(0, 0), (None, 0));
}

#[test]
fn an_overtaken_ack_tells_nothing_unless_its_stamp_is_newer() {
    let mut sender = agreed();
    let stamped = |ace, ts_val| {
        let header = Header { has_timestamps: true, ts_val, ..with(ACK, ace, 0, 0).header };
        Segment::from(header)
    };
    let still = Progress { forward: false, delivered_packets: 0, delivered_bytes: 0, ..progress(0) };
    assert_eq!(sender.newly_marked(&stamped(5, 10), still), 0);
    assert_eq!(sender.newly_marked(&stamped(7, 9), still), 0);
    assert_eq!(sender.newly_marked(&stamped(7, 11), still), 2);
}

#[test]
fn the_option_takes_the_place_of_blocks_beyond_the_second() {
    // From the kernel's test script tcp_accecn_sack_space_grab_with_ts: timestamps take 12 of 40 bytes.
    let mut receiver = AccEcn { saw_option: true, ..agreed() };
    let mut fields = |arrived, blocks| {
        receiver.on_arrival(&with(ACK, 5, arrived, 1000));
        let (option, blocks) = receiver.option(12, blocks);
        (option.map_or(0, |option| option.fields), blocks)
    };
    assert_eq!(fields(ECT_1, 1), (3, 1));
    assert_eq!(fields(ECT_1, 2), (2, 2));
    assert_eq!(fields(CE, 3), (2, 2));
    assert_eq!(fields(ECT_0, 3), (0, 3), "ECT(0) is the third field, for which there is no room");
}

proptest! {
    #[test]
    fn an_option_in_which_one_counter_has_grown_is_read_as_any_other(
        steps in proptest::collection::vec((0_u8..8, 0_u32..3000, 0_u8..2, 0_u8..4), 1..100)
    ) {
        let (mut short, mut counters, mut taken) = (AccEcn { saw_option: true, ..agreed() }, FIRST_VALUES, 0);
        let mut full = short.clone();
        for (kind, bytes, order, fields) in steps {
            // Most options are the next ones of an L4S flow.
            let (field, order, fields) = if kind < 5 { (0, 1, 3) } else { (usize::from(kind % 3), order, fields) };
            counters[field] = counters[field].wrapping_add(bytes) & ((1 << FIELD_BITS) - 1);
            let option = (kind < 7).then_some(AccEcnOption { fields, ..counted(order, counters) });
            let segment = Segment { accecn: option, ..with(ACK, 5, 0, 0) };
            taken += u32::from(short.clone().read_next_option(&segment).is_some());
            prop_assert_eq!(short.read_option(&segment, bytes), full.read_any_option(&segment, bytes));
            prop_assert_eq!(format!("{short:?}"), format!("{full:?}"));
        }
        prop_assume!(taken > 0);
    }
}
