//! The driver of links. It offers packets to links, takes packets that arrive, and serves queues that decide at
//! departure. The simulator and the router both drive their links by it, so the same random numbers give a packet the
//! same history in both.
//!
//! [`Network`] is a trait, not a type that owns its links, because deliveries call back: an endpoint that gets a packet
//! answers into the same network.

use cwndlab_units::Time;

use crate::{DropCause, Link, Offered, Packet};

/// Schedules the events of links. Each link has at most one live arrival event and one live service event.
pub trait Schedule {
    /// Schedules a link's next arrival. `sole`: the link has no other pending arrival event, not even a stale one.
    fn arrival(&mut self, at: Time, link: u32, sole: bool);
    /// Schedules a link's next service.
    fn service(&mut self, at: Time, link: u32);
}

/// A link and the times of its pending events.
#[derive(Debug)]
pub struct Wire<P> {
    /// The link.
    pub link: Link<P>,
    /// Time of the link's live arrival event, [`Time::MAX`] if there is none. An event at another time is stale.
    pub arrival_due: Time,
    /// Time of the link's live service event, [`Time::MAX`] if there is none. An event at another time is stale.
    pub service_due: Time,
    /// Whether [`Network::on_queue_changed`] is called.
    pub watched: bool,
    /// Whether [`Network::on_arrived`] is called.
    pub observed: bool,
    /// Whether [`Wire::take`] may be called: nothing but the packet's arrival can follow from its offer.
    pub ordinary: bool,
    /// Whether [`Wire::take_early`] may be called.
    pub early: bool,
    /// Whether [`Link::arrive_plain`] may be called, [`Network::on_arrived`] is not requested, and the argument `more`
    /// of [`Network::on_delivered`] is not requested or never true.
    pub passes: bool,
}

impl<P: Packet> Wire<P> {
    /// An idle link, of which nothing is reported but its drops and marks.
    pub fn new(link: Link<P>) -> Wire<P> {
        Wire {
            arrival_due: Time::MAX,
            service_due: Time::MAX,
            watched: false,
            observed: false,
            ordinary: link.is_plain(),
            early: link.is_early(),
            passes: !link.holds_back(),
            link,
        }
    }

    /// Requests the argument `more` of [`Network::on_delivered`].
    #[must_use]
    pub fn delivering(self) -> Wire<P> {
        let passes = self.passes && !self.link.bunches();
        Wire { passes, ..self }
    }

    /// Requests [`Network::on_queue_changed`].
    #[must_use]
    pub fn watched(self) -> Wire<P> {
        Wire { watched: true, ordinary: false, early: false, ..self }
    }

    /// Requests [`Network::on_arrived`].
    #[must_use]
    pub fn observed(self) -> Wire<P> {
        Wire { observed: true, passes: false, ..self }
    }

    /// Offers a packet of `wire_bytes` bytes, which `write` writes, to an `ordinary` link. Returns false, with no effect,
    /// if the queue has to decide on the packet.
    #[allow(clippy::inline_always)] // once per packet-hop
    #[inline(always)]
    pub fn take(
        &mut self,
        schedule: &mut impl Schedule,
        now: Time,
        index: u32,
        wire_bytes: u32,
        write: impl FnOnce(&mut P),
    ) -> bool {
        let Some(arrival) = self.link.offer_plain(now, wire_bytes, write) else { return false };
        self.schedule_first(schedule, arrival, index);
        true
    }

    /// Does what [`Wire::take`] does, for an `early` link.
    #[inline]
    pub fn take_early(
        &mut self,
        schedule: &mut impl Schedule,
        now: Time,
        index: u32,
        wire_bytes: u32,
        write: impl FnOnce(&mut P),
    ) -> bool {
        let Some(arrival) = self.link.offer_early(now, wire_bytes, write) else { return false };
        self.schedule_first(schedule, arrival, index);
        true
    }

    /// Schedules the arrival of a packet just accepted, unless the arrival of another packet, ahead of it, is scheduled.
    #[allow(clippy::inline_always)] // once per packet-hop
    #[inline(always)]
    fn schedule_first(&mut self, schedule: &mut impl Schedule, arrival: Time, index: u32) {
        if self.arrival_due.is_never() {
            self.arrival_due = arrival;
            schedule.arrival(arrival, index, true);
        }
    }

    /// Takes the packet whose arrival event is being handled, from a link that `passes`.
    #[allow(clippy::inline_always)] // once per packet-hop
    #[inline(always)]
    pub fn arrive(&mut self, schedule: &mut impl Schedule, index: u32) -> &P {
        let (packet, next) = self.link.arrive_plain();
        self.arrival_due = next.unwrap_or(Time::MAX);
        if let Some(next) = next {
            schedule.arrival(next, index, true);
        }
        packet
    }

    /// After an offered packet was queued: whether nothing is left to schedule or to report. May be false although
    /// nothing is; then the full path decides.
    #[inline]
    fn only_queued(&self) -> bool {
        !self.arrival_due.is_never() && !self.watched && self.link.only_queued(self.service_due)
    }

    /// Schedules the link's next arrival, if a new packet may have changed it: if the link was empty, or an impairment holds
    /// back the packet ahead.
    #[inline]
    fn schedule_arrival(&mut self, schedule: &mut impl Schedule, index: u32) {
        let holds_back = self.link.holds_back();
        if !self.arrival_due.is_never() && !holds_back {
            return;
        }
        let next = self.link.next_arrival();
        if next < self.arrival_due {
            self.arrival_due = next;
            schedule.arrival(next, index, !holds_back);
        }
    }
}

/// Links and what surrounds them. [`Network::forward`] begins a packet's way; afterwards the owner calls
/// [`Network::arrive`] and [`Network::serve`] at the scheduled times.
///
/// Each packet that enters, and each copy, ends once: by [`Network::on_dropped`] or by [`Network::on_delivered`].
pub trait Network {
    /// A packet on these links.
    type Packet: Packet;
    /// What schedules the links' events.
    type Schedule: Schedule;

    /// The time of the event that is being handled.
    fn now(&self) -> Time;
    /// A link, and the schedule of its events.
    fn wire(&mut self, link: u32) -> (&mut Wire<Self::Packet>, &mut Self::Schedule);
    /// The next link of a packet's route; `None` at its end.
    fn next_link(&self, packet: &Self::Packet) -> Option<u32>;
    /// The packet as it is on the next link of its route.
    fn onward(packet: &Self::Packet) -> Self::Packet;

    /// Gives a duplicate what it cannot share with its original, such as its own hold on a buffer. Called before
    /// anything is reported of either.
    fn on_copied(&mut self, link: u32, copy: &mut Self::Packet);
    /// A link's queue marked the packet CE.
    fn on_marked(&mut self, link: u32, packet: &Self::Packet);
    /// A link's queue or impairment dropped the packet.
    fn on_dropped(&mut self, link: u32, cause: DropCause, packet: &Self::Packet);
    /// A packet has crossed an `observed` link.
    fn on_arrived(&mut self, link: u32, packet: &Self::Packet);
    /// The packet has reached the end of its route. `more`: another packet leaves the same link at the same instant.
    fn on_delivered(&mut self, packet: &Self::Packet, more: bool);
    /// The queue of a `watched` link has changed.
    fn on_queue_changed(&mut self, link: u32);

    /// Passes a packet to the next link of its route, or delivers it.
    fn forward(&mut self, packet: &Self::Packet) {
        match self.next_link(packet) {
            Some(link) => self.offer(link, &Self::onward(packet)),
            None => self.on_delivered(packet, false),
        }
    }

    /// Offers a packet to the next link of its route.
    #[inline]
    fn offer(&mut self, link: u32, packet: &Self::Packet) {
        self.offer_to_link(link, packet);
    }

    /// Offers a packet to any link, and handles every possible result.
    #[inline(never)]
    fn offer_to_link(&mut self, link: u32, packet: &Self::Packet) {
        let now = self.now();
        let (wire, _) = self.wire(link);
        let offered = wire.link.offer(now, packet);
        if offered == Offered::Queued && wire.only_queued() {
            return;
        }
        if let Some(copy) = wire.link.pop_copy() {
            self.offer_copy(link, copy);
        }
        self.after_offer(link, offered, packet);
    }

    /// Offers a duplicate that the last [`Network::offer`] made.
    #[cold]
    fn offer_copy(&mut self, link: u32, mut copy: Self::Packet) {
        self.on_copied(link, &mut copy);
        let now = self.now();
        let offered = self.wire(link).0.link.offer_copy(now, &copy);
        self.after_offer(link, offered, &copy);
    }

    /// Reports a drop or a mark at arrival, and schedules the new events of a link that a packet has entered.
    #[inline]
    fn after_offer(&mut self, link: u32, offered: Offered, packet: &Self::Packet) {
        match offered {
            Offered::Queued => {}
            Offered::Marked => self.report_mark(link, packet),
            Offered::Dropped(cause) => return self.drop_offered(link, cause, packet),
        }
        let (wire, schedule) = self.wire(link);
        wire.schedule_arrival(schedule, link);
        let watched = wire.watched;
        if !wire.link.is_settled(wire.service_due) {
            self.schedule_service(link);
        }
        if watched {
            self.on_queue_changed(link);
        }
    }

    /// Reports a mark at arrival.
    #[cold]
    fn report_mark(&mut self, link: u32, packet: &Self::Packet) {
        let mut marked = *packet;
        marked.mark_ce();
        self.on_marked(link, &marked);
    }

    /// Reports a drop at arrival.
    #[cold]
    fn drop_offered(&mut self, link: u32, cause: DropCause, packet: &Self::Packet) {
        self.on_dropped(link, cause, packet);
        let (wire, _) = self.wire(link);
        if wire.watched && wire.link.has_bounded_class() && cause != DropCause::Loss {
            self.on_queue_changed(link); // as for a queue that decides at departure, which changes at every arrival
        }
    }

    /// Handles an arrival event of any link.
    #[inline(never)]
    fn arrive(&mut self, link: u32) {
        let now = self.now();
        let (wire, schedule) = self.wire(link);
        if wire.arrival_due != now {
            return; // stale: an earlier arrival has since been scheduled
        }
        let packet = wire.link.arrive(now);
        wire.arrival_due = Time::MAX;
        wire.schedule_arrival(schedule, link);
        let (observed, more) = (wire.observed, wire.arrival_due == now);
        let Some(packet) = packet else { return };
        if observed {
            self.on_arrived(link, &packet);
        }
        match self.next_link(&packet) {
            Some(link) => self.offer(link, &Self::onward(&packet)),
            None => self.on_delivered(&packet, more),
        }
    }

    /// Handles a service event.
    #[inline(never)]
    fn serve(&mut self, link: u32) {
        let now = self.now();
        let (wire, schedule) = self.wire(link);
        if wire.service_due != now {
            return; // stale
        }
        let (due, has_signals) = wire.link.serve(now);
        wire.schedule_arrival(schedule, link);
        wire.service_due = due;
        if has_signals {
            self.take_signals(link);
        }
        if !due.is_never() {
            self.wire(link).1.service(due, link);
        }
    }

    /// Reports what a queue dropped and marked, and schedules the link's next service.
    #[inline(never)]
    fn schedule_service(&mut self, link: u32) {
        if self.wire(link).0.link.has_signals() {
            self.take_signals(link);
        }
        let (wire, schedule) = self.wire(link);
        let due = wire.link.next_service();
        // If a packet arrives at the very instant at which a service ends, the arrival begins the next service and the
        // due time moves.
        if due != wire.service_due && !due.is_never() {
            schedule.service(due, link);
        }
        wire.service_due = due;
    }

    /// Reports the packets dropped and marked by a queue that decides at departure.
    #[cold]
    fn take_signals(&mut self, link: u32) {
        while let Some((cause, packet)) = self.wire(link).0.link.pop_dropped() {
            self.on_dropped(link, cause, &packet);
        }
        if let Some(packet) = self.wire(link).0.link.take_marked() {
            self.on_marked(link, &packet);
        }
    }
}

#[cfg(test)]
mod tests;
