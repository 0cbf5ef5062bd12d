//! One page: its objects, the times at which they start and end, and its losses.

use cwndlab_units::Time;

use crate::event::{Command, Losses, ObjectKind, ObjectRecord};

/// One object of a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Object {
    /// Response bytes.
    pub(super) bytes: u64,
    /// Request bytes.
    pub(super) request: u64,
    start: Time,
    end: Time,
}

/// The page in progress.
#[derive(Clone)]
pub(super) struct Page {
    pub(super) index: u32,
    pub(super) losses: Losses,
    pub(super) connections: u16,
    start: Time,
    objects: Vec<Object>,
    missing: usize,
    record_objects: bool,
}

impl Page {
    pub(super) fn new(index: u32, start: Time, record_objects: bool) -> Page {
        let (losses, objects) = (Losses::default(), Vec::with_capacity(4));
        Page { index, losses, connections: 0, start, objects, missing: 0, record_objects }
    }
    pub(super) fn add(&mut self, bytes: u64, request: u64) {
        self.objects.push(Object { bytes, request, start: self.start, end: Time::MAX });
        self.missing += 1;
    }
    pub(super) fn object(&self, k: u32) -> Object {
        self.objects[k as usize]
    }
    pub(super) fn objects(&self) -> &[Object] {
        &self.objects
    }
    pub(super) fn is_complete(&self) -> bool {
        self.missing == 0
    }
    /// Starts the clock of object `k`, whose connection is opened now.
    pub(super) fn start_clock(&mut self, k: u32, now: Time) {
        self.objects[k as usize].start = now;
    }
    /// Restarts the clock of object `k`, which is requested now. For the primary object, also restarts the page's
    /// clock.
    pub(super) fn restart_clock(&mut self, k: u32, now: Time) {
        self.start_clock(k, now);
        if k == 0 {
            self.start = now;
        }
    }
    /// Stops the clock of object `k`, whose last byte has arrived now.
    pub(super) fn complete(&mut self, k: u32, now: Time, out: &mut Vec<Command>) {
        self.objects[k as usize].end = now;
        self.missing -= 1;
        if self.record_objects {
            self.record_object(k as usize, out);
        }
    }
    /// Records the page and, if it is unfinished, its missing objects.
    pub(super) fn record(&self, end: Time, out: &mut Vec<Command>) {
        if self.record_objects {
            for (k, o) in self.objects.iter().enumerate() {
                if o.end.is_never() {
                    self.record_object(k, out);
                }
            }
        }
        out.push(Command::Record(ObjectRecord {
            kind: ObjectKind::Page,
            index: self.index,
            start: self.start,
            end,
            bytes: self.objects.iter().map(|o| o.bytes).sum(),
            connections: self.connections,
            retransmits: self.losses.retransmits,
            timeouts: self.losses.timeouts,
        }));
    }

    fn record_object(&self, k: usize, out: &mut Vec<Command>) {
        let o = self.objects[k];
        out.push(Command::Record(ObjectRecord {
            kind: ObjectKind::Object,
            index: self.index * self.objects.len() as u32 + k as u32,
            start: o.start,
            end: o.end,
            bytes: o.bytes,
            connections: 1,
            retransmits: 0, // losses are counted by connection; the page's record has their sum
            timeouts: 0,
        }));
    }
}
