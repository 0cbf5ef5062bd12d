//! The fields of `tcp_info` that the endpoint has, under the kernel's names.

use crate::python::Names;
use crate::socket::Endpoint;
use cwndlab_tcp::{CongestionState, State};

/// Values of `tcpi_ca_state`.
const STATES: [(&str, f64); 5] = [
    ("TCP_CA_Open", 0.0),
    ("TCP_CA_Disorder", 1.0),
    ("TCP_CA_CWR", 2.0),
    ("TCP_CA_Recovery", 3.0),
    ("TCP_CA_Loss", 4.0),
];

/// The kernel's `tcpi_snd_ssthresh` if no threshold has been set.
const INFINITE_SSTHRESH: f64 = 2_147_483_647.0;

/// Stores the current values of the fields in `names`. Fields that the endpoint does not have stay undefined, so an
/// assertion about them is an error.
pub(crate) fn collect(endpoint: &Endpoint, state_of_tcp: State, names: &mut Names) {
    let (connection, cfg) = (&endpoint.connection, &endpoint.cfg);
    let info = connection.info(cfg);
    let mss = u64::from(info.mss);
    let microseconds = |time: cwndlab_units::Time| (time.as_nanos() / 1_000) as f64;
    let state = match info.state {
        CongestionState::Open => 0.0,
        CongestionState::Disorder => 1.0,
        CongestionState::Cwr => 2.0,
        CongestionState::Recovery => 3.0,
        CongestionState::Loss => 4.0,
    };
    let ssthresh = match connection.ssthresh_bytes() {
        u64::MAX => INFINITE_SSTHRESH,
        bytes => (bytes / mss) as f64,
    };
    let fields = [
        ("tcpi_state", crate::state::value(state_of_tcp)),
        ("tcpi_ca_state", state),
        ("tcpi_retransmits", f64::from(info.backoffs)),
        ("tcpi_backoff", f64::from(info.backoffs)),
        ("tcpi_rto", microseconds(connection.rto(cfg))),
        ("tcpi_snd_mss", mss as f64),
        ("tcpi_advmss", f64::from(cfg.mss)),
        ("tcpi_unacked", info.unacked as f64),
        ("tcpi_sacked", info.sacked as f64),
        ("tcpi_lost", info.lost as f64),
        ("tcpi_reordering", f64::from(info.reordering)),
        ("tcpi_rtt", microseconds(connection.srtt(cfg))),
        ("tcpi_rttvar", microseconds(info.rttvar)),
        ("tcpi_snd_cwnd", (connection.cwnd_bytes() / mss) as f64),
        ("tcpi_snd_ssthresh", ssthresh),
        ("tcpi_total_retrans", f64::from(connection.stats().retransmits)),
        ("tcpi_bytes_sent", connection.stats().bytes_sent as f64),
        ("tcpi_segs_in", connection.stats().segments_received as f64),
        ("tcpi_segs_out", connection.stats().segments_sent as f64),
    ];
    // These fields are defined only if the endpoint has a value for them.
    let more = [
        ("tcpi_retrans", info.retransmitted.map(|segments| segments as f64)),
        ("tcpi_rcv_mss", info.receive_mss.map(f64::from)),
        ("tcpi_reord_seen", info.reorderings.map(f64::from)),
        ("tcpi_delivered_ce", info.delivered_ce.map(|counts| f64::from(counts.packets))),
        ("tcpi_delivered_ce_bytes", info.delivered_ce.map(|counts| f64::from(counts.ce_bytes))),
        ("tcpi_delivered_e0_bytes", info.delivered_ce.map(|counts| f64::from(counts.ect0_bytes))),
        ("tcpi_delivered_e1_bytes", info.delivered_ce.map(|counts| f64::from(counts.ect1_bytes))),
        ("tcpi_min_rtt", (!info.min_rtt.is_never()).then(|| microseconds(info.min_rtt))),
    ];
    names.extend(more.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?))));
    for (name, value) in STATES.into_iter().chain(crate::state::values()).chain(fields) {
        names.insert(name.to_string(), value);
    }
}
