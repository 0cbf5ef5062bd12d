//! The list of all window laws.

use super::bbr::Bbr;
use super::bbr3::Bbr3;
use super::cubic::Cubic;
use super::cubic_linux::CubicLinux;
use super::dctcp::Dctcp;
use super::external::External;
use super::historical::{RenoLinux2, RenoPackets};
use super::law::{LossLaw, PathLaw};
use super::ledbat::Ledbat;
use super::ledbat_plus_plus::LedbatPlusPlus;
use super::needs::Needs;
use super::prague::Prague;
use super::reno::Reno;
use crate::config::{TcpConfig, WindowLawKind};

/// Defines the enum of all laws, the needs of each law, and the macros that call a method of a law: `each_loss!` for a
/// [`LossLaw`], and `each_path!` for a [`PathLaw`]. Both take the value for any other law.
macro_rules! laws {
    (
        $dollar:tt ($cfg:ident, $cwnd:ident, $mss:ident)
        loss inline {$($small:ident: $small_kind:pat => $small_new:expr;)*}
        loss boxed {$($large:ident: $large_kind:pat => $large_new:expr;)*}
        path boxed {$($path:ident: $path_kind:pat => $path_new:expr;)*}
    ) => {
        /// One law. State of more than 8 bytes is boxed to save memory: every end of a connection has a law, but most
        /// ends only receive data.
        #[derive(Debug)]
        #[cfg_attr(test, derive(Clone))]
        pub(super) enum AnyLaw {
            $($small($small),)*
            $($large(Box<$large>),)*
            $($path(Box<$path>),)*
            External(Box<External>),
        }

        impl AnyLaw {
            /// The configured law, for a window of `cwnd` bytes.
            pub fn new($cfg: &TcpConfig, $cwnd: u32, $mss: u32) -> Self {
                match $cfg.window_law {
                    $($small_kind => AnyLaw::$small($small_new),)*
                    $($large_kind => AnyLaw::$large(Box::new($large_new)),)*
                    $($path_kind => AnyLaw::$path(Box::new($path_new)),)*
                    WindowLawKind::External { .. } => AnyLaw::External(Box::default()),
                }
            }

            /// What the law needs from its connection.
            pub fn needs(&self) -> Needs {
                match self {
                    $(AnyLaw::$small(_) => $small::NEEDS,)*
                    $(AnyLaw::$large(_) => $large::NEEDS,)*
                    $(AnyLaw::$path(_) => $path::NEEDS,)*
                    AnyLaw::External(_) => External::NEEDS,
                }
            }

            /// [`LossLaw::COUNTS_PACKETS`].
            pub fn counts_packets(&self) -> bool {
                match self {
                    $(AnyLaw::$small(_) => $small::COUNTS_PACKETS,)*
                    $(AnyLaw::$large(_) => $large::COUNTS_PACKETS,)*
                    _ => false,
                }
            }

            /// Whether the law's window also applies in recovery (`Grant::owns_recovery`).
            pub fn owns_recovery(&self) -> bool {
                match self {
                    $(AnyLaw::$path(_) => true,)*
                    AnyLaw::External(external) => external.owns_recovery,
                    _ => false,
                }
            }
        }

        impl WindowLawKind {
            /// What the law needs from its connection.
            #[allow(unused_variables)] // some patterns bind knobs
            pub const fn needs(&self) -> Needs {
                match *self {
                    $($small_kind => $small::NEEDS,)*
                    $($large_kind => $large::NEEDS,)*
                    $($path_kind => $path::NEEDS,)*
                    WindowLawKind::External { .. } => External::NEEDS,
                }
            }

            /// Whether the law models the path and has a slow start of its own.
            #[allow(unused_variables)] // some patterns bind knobs
            pub(crate) const fn models_path(&self) -> bool {
                match *self {
                    $($path_kind => true,)*
                    _ => false,
                }
            }
        }

        /// `each_loss!(law, l => l.method(…), else value)`
        macro_rules! each_loss {
            ($dollar this:expr, $dollar law:ident => $dollar call:expr, else $dollar other:expr) => {
                match $dollar this {
                    $(AnyLaw::$small($dollar law) => $dollar call,)*
                    $(AnyLaw::$large($dollar law) => $dollar call,)*
                    _ => $dollar other,
                }
            };
        }

        /// `each_path!(law, l => l.method(…), else value)`
        macro_rules! each_path {
            ($dollar this:expr, $dollar law:ident => $dollar call:expr, else $dollar other:expr) => {
                match $dollar this {
                    $(AnyLaw::$path($dollar law) => $dollar call,)*
                    _ => $dollar other,
                }
            };
        }
    };
}

laws! { $(cfg, cwnd, mss)
    loss inline {
        Reno: WindowLawKind::Reno => Reno::new(cfg);
        RenoPackets: WindowLawKind::RenoPackets => RenoPackets::from_bytes(cwnd, mss);
        RenoLinux2: WindowLawKind::RenoLinux2 => RenoLinux2::default();
    }
    loss boxed {
        Cubic: WindowLawKind::Cubic(_) => Cubic::new();
        CubicLinux: WindowLawKind::CubicLinux(_) => CubicLinux::new(cfg);
        Dctcp: WindowLawKind::Dctcp => Dctcp::new(cfg);
        LedbatPlusPlus: WindowLawKind::LedbatPlusPlus(knobs) => LedbatPlusPlus::new(knobs);
        Ledbat: WindowLawKind::Ledbat(knobs) => Ledbat::new(knobs);
    }
    path boxed {
        Bbr: WindowLawKind::Bbr1 => Bbr::new(cfg);
        Bbr3: WindowLawKind::Bbr3(knobs) => Bbr3::new(cfg, knobs);
        Prague: WindowLawKind::Prague(knobs) => Prague::new(u64::from(cwnd / mss), knobs);
    }
}

#[allow(clippy::single_component_path_imports)] // exports the macro that `laws!` defines
pub(super) use {each_loss, each_path};
