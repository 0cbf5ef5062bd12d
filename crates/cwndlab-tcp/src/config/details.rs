//! Details in which a Linux sender or receiver differs from the RFCs and that belong to no knob of their own, each with
//! its kernel function. The knob `linux_details` switches them together; the code asks for one by its name.

use super::TcpConfig;

macro_rules! details {
    ($($(#[$about:meta])* $name:ident)+) => {
        impl TcpConfig {$(
            $(#[$about])*
            #[inline]
            pub(crate) const fn $name(&self) -> bool {
                self.linux_details
            }
        )+}
    };
}

details! {
    /// Round trips and waiting times are differences of whole microseconds of the clock (`tcp_stamp_us_delta`).
    counts_microseconds
    /// Echoed timestamps count milliseconds (`tcp_tsopt_ecr_before`, `tcp_rtt_tsopt_us`).
    echoes_milliseconds
    /// A segment with an old timestamp is accepted if it is a millisecond late, or a late duplicate ACK
    /// (`TCP_PAWS_WINDOW`, `tcp_disordered_ack`).
    accepts_late_timestamps
    /// A segment that ends before the last acknowledgment is answered and dropped, before its timestamp and its
    /// acknowledgment count (`tcp_validate_incoming`, `tcp_sequence`).
    drops_old_segments
    /// A SYN that is sent again does not request ECN (`tcp_ecn_clear_syn`).
    requests_ecn_once
    /// A SYN that arrives again restarts the timer of the SYN-ACK (`tcp_check_req`).
    restarts_syn_ack_timer
    /// A SYN-ACK that answers a SYN that arrived again counts as a retransmission (`num_retrans`).
    counts_repeated_syn_acks
    /// The initial window stays where the ACK echoes the timestamp of the first SYN or SYN-ACK
    /// (`tcp_try_undo_spurious_syn`).
    keeps_window_after_spurious_syn
    /// The timestamp of the ACK times a handshake whose SYN or SYN-ACK was sent again (`tcp_ack_update_rtt`).
    times_repeated_handshake
    /// Applications read after all packets of an instant have been processed (`net_rx_action`).
    reads_after_batch
    /// Data with CWR is acknowledged at once, also after a loss (`tcp_ecn_accept_cwr`).
    acknowledges_cwr
    /// With DCTCP, pure ACKs are ECN-capable (`tcp_ecn_send`).
    marks_pure_acks
    /// An ECN echo on an ACK that reveals no arrival reduces the window after loss detection, and only if the ACK reveals
    /// no loss (`tcp_fastretrans_alert`, `tcp_try_to_open`).
    detects_before_echo
    /// The ACK that ends the repair of a loss may reduce the window for its echo (`tcp_fastretrans_alert`).
    responds_at_end_of_repair
    /// A loss after an ECN echo in the same window is reported to the law (`dctcp_state`).
    reports_loss_after_echo
    /// If data sent after an echo is lost, the next ACK ends the episode of the echo, and another one begins
    /// (`tcp_fastretrans_alert`). If nothing was sent again until then, cwnd stays (`tcp_try_undo_recovery`).
    ends_episode_of_echo
    /// The lowest SACK block is recorded first (`tcp_sacktag_write_queue`).
    sorts_blocks
    /// What SACK newly reports opens the window (`tcp_cong_control`, `acked_sacked`).
    grows_by_reports
    /// The window opens by whole packets, however short they are (`tcp_slow_start`, `tcp_cong_avoid_ai`).
    opens_by_packets
    /// The ACK that ends an episode opens the window (`tcp_cong_control`).
    grows_at_end_of_repair
    /// Without SACK, duplicate ACKs count as arrivals, and recovery is by proportional rate reduction, too
    /// (`tcp_add_reno_sack`, `tcp_newreno_mark_lost`).
    repairs_by_duplicates
    /// Proportional rate reduction counts whole packets (`tcp_cwnd_reduction`).
    reduces_by_packets
    /// In an episode, cwnd also limits what the reordering timer lets go between two ACKs (`tcp_cwnd_test`).
    repairs_within_cwnd
    /// A DSACK counts for RACK only after reordering, not for a probe, and not if more segments are reported than were
    /// retransmitted (`tcp_dsack_seen`).
    doubts_dsacks
    /// A segment that arrived twice counts as delivered once more (`tcp_dsack_seen`, `sack_delivered`).
    counts_dsacked
    /// Only a DSACK for the probe shows that the probe and its original have arrived (`FLAG_DSACK_TLP`).
    matches_dsack_of_probe
    /// A partial ACK that shows by its timestamp that a repair was not needed counts as reordering
    /// (`tcp_try_undo_partial`).
    remembers_undone_reordering
    /// RACK tests the echoed timestamp only for what is cumulatively acknowledged (`tcp_rack_advance`).
    ignores_echo_of_sacked
    /// RACK looks for losses only if an ACK has told something new (`tcp_rack_mark_lost`).
    detects_on_news
    /// A DSACK widens the reordering window if something newly reported was sent after the last that did
    /// (`tcp_rack_update_reo_wnd`).
    widens_by_send_times
    /// A repair whose reduction is undone does not count for the reordering window (`tcp_try_undo_recovery`).
    skips_undone_repairs
    /// A loss that the reordering timer finds counts one segment as delivered (`tcp_rack_reo_timeout`).
    delivers_by_timer
    /// A timeout allows no time for reordering (`tcp_timeout_mark_lost`).
    loses_all_at_timeout
    /// The minimum round trip is forgotten after a time, and short segments do not change it (`tcp_update_rtt_min`,
    /// `FLAG_ACK_MAYBE_DELAYED`).
    forgets_min_rtt
    /// Packets decide whether cwnd is less than half of ssthresh, so that data is paced as in slow start
    /// (`tcp_update_pacing_rate`).
    paces_by_packets
    /// The probe and the timeout wait for the pacer (`tcp_pacing_delay`).
    waits_for_pacer
    /// Retransmissions precede new data once the pacer's timer has expired (`tcp_tsq_write`).
    resends_after_pacing
}
