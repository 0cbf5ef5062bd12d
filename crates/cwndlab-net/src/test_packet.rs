//! The packet of this crate's tests.

use crate::{Ack, Ecn, Packet};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TestPacket {
    pub id: u64,
    pub bytes: u32,
    pub ecn: Ecn,
    pub flow: u64,
    pub offset: u64,
    pub traffic: u8,
    pub dscp: u8,
    pub place: u32,
    pub ack: Option<Ack>,
}

impl TestPacket {
    pub fn new(id: u64) -> TestPacket {
        TestPacket { id, bytes: 1000, offset: id * 960, ..TestPacket::default() }
    }
    pub fn ect(id: u64) -> TestPacket {
        TestPacket { ecn: Ecn::Ect0, ..TestPacket::new(id) }
    }
    pub fn of_flow(id: u64, flow: u64) -> TestPacket {
        TestPacket { flow, ..TestPacket::new(id) }
    }
}

impl Packet for TestPacket {
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn mark_ce(&mut self) {
        assert!(matches!(self.ecn, Ecn::Ect0 | Ecn::Ect1), "mark_ce on {:?}", self.ecn);
        self.ecn = Ecn::Ce;
    }
    fn flow_key(&self) -> u64 {
        self.flow
    }
    fn payload(&self) -> (u32, u32) {
        (self.offset as u32, self.bytes - 40)
    }
    fn traffic(&self) -> u8 {
        self.traffic
    }
    fn dscp(&self) -> u8 {
        self.dscp
    }
    fn route_position(&self) -> u32 {
        self.place
    }
    fn ack(&self) -> Option<Ack> {
        self.ack
    }
}
