//! The congestion controls of noq.

use std::sync::Arc;

use quic::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};

pub fn find(name: &str) -> Arc<dyn ControllerFactory + Send + Sync> {
    match name {
        "cubic" => Arc::new(CubicConfig::default()),
        "reno" => Arc::new(NewRenoConfig::default()),
        "bbr3" => Arc::new(Bbr3Config::default()),
        _ => panic!("noq has cubic, reno and bbr3, no {name}"),
    }
}
