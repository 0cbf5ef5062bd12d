//! Window laws from outside the engine: for which flows they are made, and how a run ends that lacks one.

use std::sync::{Arc, Mutex};

use cwndlab_tcp::{AckReport, AfterAck, CongestionControl, LawError, LawId, LossEvent, Profile, Window, WindowLawKind};
use cwndlab_traffic::Side;
use rand::RngCore as _;

use super::*;
use crate::budget::RunError;
use crate::laws::{Flow, Laws};
use crate::probe::NoProbe;

/// A law that keeps its window, and fails with its fifth acknowledgment if it is to.
#[derive(Debug)]
struct Still {
    fails: bool,
    acks: u32,
}

impl CongestionControl for Still {
    fn on_ack(&mut self, _: &AckReport, _: &AfterAck, _: u64, _: &mut Window) -> Result<(), LawError> {
        self.acks += 1;
        if self.fails && self.acks == 5 {
            return Err(LawError("five is too much".into()));
        }
        Ok(())
    }
    fn on_loss(&mut self, _: &LossEvent, _: &mut Window) -> Result<(), LawError> {
        Ok(())
    }
}

/// Makes laws 1, 2, which fails, and no other; notes for which flows.
struct Known(Arc<Mutex<Vec<Flow>>>);

impl Laws for Known {
    fn make(&mut self, id: LawId, flow: &Flow) -> Result<Box<dyn CongestionControl>, LawError> {
        self.0.lock().unwrap().push(flow.clone());
        match id {
            LawId(1 | 2) => Ok(Box::new(Still { fails: id == LawId(2), acks: 0 })),
            _ => Err(LawError(format!("{id} is unknown"))),
        }
    }
}

/// A transfer whose client and server have these laws; 0 stands for Reno.
fn transfer(laws: [u128; 2]) -> Scenario {
    let mut scenario = chain(&tcp(Profile::Rfc5681, RecoveryKind::Reno), 60_000, DROP_TAIL, "", 60);
    scenario.tcp.push(scenario.tcp[0]);
    scenario.traffic[0].tcp_server = 1;
    for (config, law) in scenario.tcp.iter_mut().zip(laws) {
        if law > 0 {
            config.window_law = WindowLawKind::External { code: LawId(law), random: false };
        }
    }
    scenario
}

fn run_with(scenario: &Scenario) -> (Result<Summary, RunError>, Vec<Flow>) {
    let flows = Arc::new(Mutex::new(Vec::new()));
    let simulation = Simulation::new(scenario, 1, 0, NoProbe).unwrap();
    let result = simulation.with_laws(scenario, Box::new(Known(Arc::clone(&flows)))).run();
    let made = flows.lock().unwrap().clone();
    (result.map(|(summary, _)| summary), made)
}

#[test]
fn a_law_is_made_for_each_end_that_requests_one() {
    let seed = |end| crate::Streams::new(1, 0).connection("transfer", 0, end).next_u64();
    let flow = |side, end| Flow { traffic: "transfer".into(), connection: 0, side, seed: seed(end) };
    let both = [flow(Side::Client, "client"), flow(Side::Server, "server")];
    for (laws, expected) in [([1, 1], &both[..]), ([1, 0], &both[..1]), ([0, 1], &both[1..]), ([0, 0], &[])] {
        let (result, made) = run_with(&transfer(laws));
        assert_eq!((result.unwrap().connections, &made[..]), (1, expected), "{laws:?}");
    }
}

#[test]
fn a_run_ends_with_the_error_of_its_law() {
    let (result, _) = run_with(&transfer([2, 0]));
    let RunError::Law { flow, at, why } = result.unwrap_err() else { panic!("another error") };
    assert_eq!((&flow[..], &why[..]), ("transfer, connection 0, client", "five is too much"));
    // Five acknowledgments came back, the first after the handshake and another round trip of 44 ms.
    assert!(at > Time::from_millis(88) && at < Time::from_secs(2), "{at}");
    let (result, _) = run_with(&transfer([0, 3]));
    let RunError::Law { flow, at, why } = result.unwrap_err() else { panic!("another error") };
    assert_eq!((&flow[..], at), ("transfer, connection 0, server", Time::ZERO));
    assert!(why.ends_with("is unknown"), "{why}");
}

#[test]
fn a_law_that_is_not_there_ends_the_run() {
    let error = Simulation::new(&transfer([1, 0]), 1, 0, NoProbe).unwrap().run().err().unwrap();
    let RunError::Law { flow, at, why } = &error else { panic!("{error}") };
    assert_eq!((&flow[..], *at), ("connection 0, client", Time::ZERO));
    assert!(why.contains("is not in this process"), "{why}");
    assert_eq!(error.at(), Time::ZERO);
}
