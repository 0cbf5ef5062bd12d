//! The paths for most packets do what the full path does, and both what a list of departures says.

use super::*;

/// Packets in the link by their departure, arrival and size on the link.
#[derive(Default)]
struct Model {
    packets: VecDeque<(Time, Time, u64)>,
    free_at: Time,
}

const HEADER: u32 = 18;
const RATE: u64 = 8_000_000; // a byte takes 1 us

impl Model {
    fn offer(&mut self, now: Time, bytes: u32, delay: Time) -> Time {
        let wire = u64::from(bytes + HEADER);
        self.free_at = self.free_at.max(now) + Time::from_micros(wire);
        self.packets.push_back((self.free_at, self.free_at + delay, wire));
        self.free_at + delay
    }

    /// Packets and bytes that have not left the transmitter by `now`.
    fn backlog(&self, now: Time) -> (u32, u64) {
        let waiting = self.packets.iter().filter(|&&(departure, ..)| departure > now);
        (waiting.clone().count() as u32, waiting.map(|&(.., bytes)| bytes).sum())
    }
}

fn plain_link(delay: Time) -> Link<TestPacket> {
    Link::new(Rate::from_bps(RATE), delay, HEADER, &drop_tail(1000), crate::Rng::seed_from_u64(1))
}

proptest! {
    /// Between looks at the backlog several packets depart, arrive and enter, so that it is counted late in all ways.
    #[test]
    fn the_plain_path_and_the_full_path_keep_the_same_backlog(
        steps in proptest::collection::vec((0_u64..3000, 21_u32..1500, any::<bool>(), any::<bool>()), 1..60),
        delay_us in prop_oneof![Just(0_u64), Just(700), Just(20_000)],
    ) {
        let delay = Time::from_micros(delay_us);
        let (mut plain, mut full, mut model) = (plain_link(delay), plain_link(delay), Model::default());
        let (mut now, mut arrived) = (Time::ZERO, 0);
        for (id, (after, bytes, looks, by_plain)) in steps.into_iter().enumerate() {
            now += Time::from_micros(after);
            while let Some(&(_, arrival, _)) = model.packets.front().filter(|&&(_, arrival, _)| arrival <= now) {
                prop_assert_eq!((plain.next_arrival(), full.next_arrival()), (arrival, arrival));
                model.packets.pop_front();
                let next = model.packets.front().map(|&(_, arrival, _)| arrival);
                let expected = full.arrive(arrival);
                if by_plain {
                    let (packet, following) = plain.arrive_plain();
                    prop_assert_eq!((Some(*packet), following), (expected, next));
                } else {
                    prop_assert_eq!(plain.arrive(arrival), expected);
                }
                arrived += 1;
            }
            let sent = TestPacket { bytes, ..TestPacket::new(id as u64) };
            let arrival = model.offer(now, bytes, delay);
            prop_assert_eq!(full.offer(now, &sent), Offered::Queued);
            if let Some(at) = plain.offer_plain(now, bytes, |place| *place = sent) {
                prop_assert_eq!(at, arrival);
            } else {
                prop_assert_eq!(plain.offer(now, &sent), Offered::Queued);
            }
            if looks {
                let (packets, bytes) = model.backlog(now);
                for link in [&mut plain, &mut full] {
                    let seen = link.backlog(now);
                    prop_assert_eq!((seen.packets, seen.bytes), (packets, bytes));
                }
            }
            for link in [&plain, &full] {
                prop_assert_eq!((link.crossed(), link.packets_inside()), (arrived, model.packets.len() as u64));
            }
        }
        prop_assert_eq!(plain.counters(), full.counters());
    }
}
