//! The congestion controls of quinn.

use std::sync::Arc;

use quic::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};

pub fn find(name: &str) -> Arc<dyn ControllerFactory + Send + Sync> {
    match name {
        "cubic" => Arc::new(CubicConfig::default()),
        "reno" => Arc::new(NewRenoConfig::default()),
        "bbr" => Arc::new(BbrConfig::default()),
        _ => panic!("quinn has cubic, reno and bbr, no {name}"),
    }
}
