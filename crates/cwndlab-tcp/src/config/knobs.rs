//! What a knob is. [`knobs!`] makes a struct of knobs: its fields, their rows in the reference, their ranges, and their
//! values in each profile, with the sources. A knob without a range does not compile.

use super::{
    Bbr3Config, CubicConfig, FackConfig, FinConfig, HandshakeConfig, LedbatConfig, LedbatPlusPlusConfig, NewRenoConfig,
    PragueConfig, Profile, RackConfig, RenoConfig, RtoConfig, SackConfig, TcpConfig,
};

/// One knob of an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Knob {
    /// The knob's path in study files: `rto.min_ns`, `handshake.timed`, `recovery.rack.f_rto`.
    pub name: &'static str,
    /// What a value is, such as `bool`, `bytes` or `draft | google-v3`.
    pub kind: &'static str,
    /// What the knob does.
    pub doc: &'static str,
    /// The values that it may have, as the error for any other value states them; empty if its type alone limits them.
    pub range: &'static str,
    /// Where the value of each profile comes from, in the order of [`Profile::ALL`].
    pub(crate) sources: [&'static str; 5],
}

impl Knob {
    /// Where the value of `profile` comes from.
    pub const fn source(&self, profile: Profile) -> &'static str {
        self.sources[profile as usize]
    }
}

/// Every knob, in the order of [`TcpConfig`]. The knobs of a knob's alternatives follow that knob, such as
/// `recovery.rack.f_rto` after `recovery`.
pub fn all_knobs() -> Vec<Knob> {
    let inner = [
        HandshakeConfig::KNOBS,
        FinConfig::KNOBS,
        RenoConfig::KNOBS,
        NewRenoConfig::KNOBS,
        SackConfig::KNOBS,
        FackConfig::KNOBS,
        RackConfig::KNOBS,
        CubicConfig::KNOBS,
        Bbr3Config::KNOBS,
        PragueConfig::KNOBS,
        LedbatPlusPlusConfig::KNOBS,
        LedbatConfig::KNOBS,
    ];
    let of = |knob: &Knob| {
        let name = knob.name;
        inner.into_iter().flatten().filter(move |inner| inner.name.split('.').next() == Some(name)).copied()
    };
    let own = TcpConfig::KNOBS.iter().flat_map(|knob| std::iter::once(*knob).chain(of(knob)));
    own.chain(RtoConfig::KNOBS.iter().copied()).collect()
}

/// How sources cite ns-2's one-way agents of 1998: as the origin of a value, and for a feature that they lack.
pub(super) const NS2: &str = "ns-2 (1998): the one-way agents";
pub(super) const NS2_NONE: &str = "ns-2 (1998): the one-way agents have none";
/// The text given as source where Linux 2.0 or 2.2 has the value of the profile `rfc5681`.
pub(crate) const AS_RFC5681: &str = "as rfc5681; the kernel has nothing else";

/// `knobs! { pub struct Name("prefix.") { field: type [kind; range] { profile: value => source, … } … } }`.
///
/// `kind` is what a value looks like in a study. A `range` is one of: `any`; `own`, if the type checks itself;
/// `crossed`, if `check.rs` compares the value with other knobs; `timer` or `time`, with the limits in `check.rs`; or a
/// range of values. After `crossed` and after a range of values, a string states the range for errors and the
/// reference; after `own` it is optional. Linux 2.0 and 2.2 have the values of `rfc5681` unless the knob gives theirs.
/// `inner` structs have knobs of their own.
macro_rules! knobs {
    (
        $(#[$meta:meta])*
        pub struct $name:ident($prefix:literal) {$(
            $(#[doc = $doc:literal])+
            $(#[serde($serde:ident)])?
            $field:ident: $type:ty [$kind:expr; $($range:tt)+] {
                ns2_1998: $ns2:expr => $ns2_source:expr,
                rfc5681: $rfc5681:expr => $rfc5681_source:expr,
                $(linux_2_0: $linux_2_0:expr => $linux_2_0_source:expr,
                linux_2_2: $linux_2_2:expr => $linux_2_2_source:expr,)?
                linux_6: $linux_6:expr => $linux_6_source:expr,
            }
        )*}
        $(inner {$(
            $(#[$inner_meta:meta])+
            $inner:ident: $inner_type:ty,
        )*})?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[doc = $doc])+ $(#[serde($serde)])? pub $field: $type,)*
            $($($(#[$inner_meta])+ pub $inner: $inner_type,)*)?
        }

        impl $name {
            /// The standards' values, those of `rfc5681`.
            pub const STANDARD: $name = $name::of(Profile::Rfc5681);

            /// The values of a profile.
            pub const fn of(profile: Profile) -> $name {
                $name {
                    $($field: match profile {
                        Profile::Ns2_1998 => $ns2,
                        $(Profile::Linux2_0 => $linux_2_0,
                        Profile::Linux2_2 => $linux_2_2,)?
                        Profile::Linux6 => $linux_6,
                        _ => $rfc5681,
                    },)*
                    $($($inner: <$inner_type>::of(profile),)*)?
                }
            }

            #[allow(dead_code)] // unused if a struct has only `inner` fields
            pub(crate) const KNOBS: &'static [$crate::config::Knob] = &[$($crate::config::Knob {
                name: concat!($prefix, stringify!($field)),
                kind: $kind,
                doc: concat!($($doc),+).trim_ascii_start(),
                range: knobs!(@words $($range)+),
                sources: [
                    $ns2_source,
                    $rfc5681_source,
                    knobs!(@first $($linux_2_0_source,)? $crate::config::knobs::AS_RFC5681),
                    knobs!(@first $($linux_2_2_source,)? $crate::config::knobs::AS_RFC5681),
                    $linux_6_source,
                ],
            },)*];

            #[allow(unused_variables)] // `errors` is unused if every range is `any`
            pub(crate) fn check_ranges(&self, errors: &mut $crate::config::check::Errors) {
                $(knobs!(@range errors, concat!($prefix, stringify!($field)), self.$field, $($range)+);)*
                $($(self.$inner.check_ranges(errors);)*)?
            }
        }
    };
    (@first $first:expr $(, $other:expr)?) => { $first };
    (@words any) => { "" };
    (@words own) => { "" };
    (@words timer) => { $crate::config::check::TIMER_RANGE };
    (@words time) => { $crate::config::check::TIME_RANGE };
    (@words $range:expr, $right:literal) => { $right };
    (@range $errors:ident, $knob:expr, $value:expr, any) => {};
    (@range $errors:ident, $knob:expr, $value:expr, crossed, $right:literal) => {};
    (@range $errors:ident, $knob:expr, $value:expr, own $(, $right:literal)?) => { $value.check_ranges($errors) };
    (@range $errors:ident, $knob:expr, $value:expr, timer) => { $errors.timer($knob, $value) };
    (@range $errors:ident, $knob:expr, $value:expr, time) => { $errors.time($knob, $value) };
    (@range $errors:ident, $knob:expr, $value:expr, $range:expr, $right:literal) => {
        $errors.range(($range).contains(&$value), $knob, $value, $right)
    };
}
pub(crate) use knobs;

/// Former names of knobs, and the current ones. Each knob now belongs to the alternative that uses it.
pub const RENAMED: [(&str, &str); 20] = [
    ("one_way_agents", "recovery.reno.rules or packet_stamps or sack_blocks or dsack or ecn_holds_slow_start"),
    ("fin_alone", "fin.alone"),
    ("time_wait", "fin.time_wait"),
    ("dup_ack_window_segments", "recovery.reno.dup_ack_window_segments"),
    ("retransmit_guard", "recovery.reno.retransmit_guard"),
    ("timeout_keeps_recovery", "recovery.reno.outlives_timeout"),
    ("recovery_extra_segments", "recovery.reno.extra_segments or recovery.new-reno.extra_segments"),
    ("new_reno_impatient", "recovery.new-reno.impatient"),
    ("partial_window_deflation", "recovery.new-reno.partial_window_deflation"),
    ("f_rto", "recovery.rack.f_rto"),
    ("window_validation", "recovery.rack.window_validation"),
    ("rto.one_way", "rto.samples = \"one-way-delay\" or \"round-trip\""),
    ("rto.per_segment", "rto.samples = \"each-segment\" or \"round-trip\""),
    ("rto.from_first", "recovery.rack.timers = \"linux\""),
    ("cubic_fast_convergence", "window_law.cubic.fast_convergence"),
    ("handshake_ack_opens_window", "handshake.ack_opens_window"),
    ("syn_timeout_cuts", "handshake.timeout_cuts"),
    ("rto.times_handshake", "handshake.timed"),
    ("rto.syn_linear", "handshake.linear_timeouts"),
    ("rto.free_syns", "handshake.free_retransmissions"),
];
