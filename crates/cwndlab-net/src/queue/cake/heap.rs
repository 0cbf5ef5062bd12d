//! The heap by which CAKE finds the flow with the most bytes (`cake_heapify` and what surrounds it). It is built when
//! memory first runs out, and again when that has not happened for 65,535 packets.

use super::tin::QUEUES;

/// `CAKE_MAX_TINS`.
const TINS: usize = 8;
const SIZE: usize = TINS * QUEUES;

/// Bytes of each flow of all tins, and the heap of them.
#[derive(Clone, Debug)]
pub(super) struct Fattest {
    bytes: Vec<u32>,
    heap: Vec<u16>,
    place: Vec<u16>,
    /// `overflow_timeout`; 0 while the heap is out of order.
    pub timeout: u16,
}

impl Fattest {
    pub(super) fn new() -> Fattest {
        // cake_init: the flows of the same number next to each other. An entry is `tin * QUEUES + flow`.
        let heap: Vec<u16> = (0..SIZE).map(|k| (k % TINS * QUEUES + k / TINS) as u16).collect();
        let mut place = vec![0; SIZE];
        for (at, &entry) in heap.iter().enumerate() {
            place[usize::from(entry)] = at as u16;
        }
        Fattest { bytes: vec![0; SIZE], heap, place, timeout: 0 }
    }

    /// More bytes of a flow (`cake_enqueue`).
    pub(super) fn add(&mut self, tin: usize, flow: usize, bytes: u32, fewer: u32) {
        let entry = tin * QUEUES + flow;
        self.bytes[entry] = self.bytes[entry] + bytes - fewer;
        if self.timeout > 0 {
            self.rise(usize::from(self.place[entry]));
        }
    }

    /// Fewer bytes of a flow (`cake_dequeue_one`).
    pub(super) fn subtract(&mut self, tin: usize, flow: usize, bytes: u32) {
        let entry = tin * QUEUES + flow;
        self.bytes[entry] -= bytes;
        if self.timeout > 0 {
            self.sink(usize::from(self.place[entry]));
        }
    }

    /// Tin and number of the flow with the most bytes (the first part of `cake_drop`).
    pub(super) fn top(&mut self) -> (usize, usize) {
        if self.timeout == 0 {
            for at in (0..SIZE / 2).rev() {
                self.sink(at);
            }
        }
        self.timeout = u16::MAX;
        let entry = usize::from(self.heap[0]);
        (entry / QUEUES, entry % QUEUES)
    }

    fn of(&self, at: usize) -> u32 {
        self.bytes[usize::from(self.heap[at])]
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.place[usize::from(self.heap[a])] = a as u16;
        self.place[usize::from(self.heap[b])] = b as u16;
    }

    /// `cake_heapify`. It continues to compare with the bytes of what has risen, not of what sinks, so that an entry mostly
    /// sinks by one level.
    fn sink(&mut self, mut at: usize) {
        let mut most_bytes = self.of(at);
        loop {
            let mut most = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < SIZE && self.of(child) > most_bytes {
                    (most, most_bytes) = (child, self.of(child));
                }
            }
            if most == at {
                return;
            }
            self.swap(at, most);
            at = most;
        }
    }

    fn rise(&mut self, mut at: usize) {
        while at > 0 && self.of(at) > self.of((at - 1) / 2) {
            self.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }
}

#[cfg(test)]
mod tests;
