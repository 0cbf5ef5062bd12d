//! The macro that defines all kinds of queues.

/// Defines [`QueueConfig`](super::QueueConfig), [`ArrivalQueue`](super::ArrivalQueue) and
/// [`DepartureQueue`](super::DepartureQueue) from a row for each kind: the type of its parameters, how its queue is made and
/// stored, and the calls of the queue. The kinds `inlined` are frequent; if the others were inlined, too, they would take
/// registers.
macro_rules! queues {
    (
        arrival($config:ident, $rate:ident; $queue:ident, $now:ident, $backlog:ident, $bytes:ident, $ecn:ident, $rng:ident) {$(
            $(#[doc = $arrival_doc:literal])+
            $arrival:ident($arrival_config:ident) as $arrival_type:ty:
                $arrival_new:expr => $arrive:expr;
        )*}
        departure($seed:ident; $packet:ident, $dropped:ident, $place:ident) {
            inlined {$(
                $(#[doc = $frequent_doc:literal])+
                $(#[serde($frequent_name:meta)])?
                $frequent:ident($frequent_config:ident): $frequent_new:expr => $frequent_in:expr => $frequent_out:expr;
            )*}
            others {$(
                $(#[doc = $other_doc:literal])+
                $(#[serde($other_name:meta)])?
                $other:ident($other_config:ident): $other_new:expr => $other_in:expr => $other_out:expr;
            )*}
        }
    ) => {
        /// The kind of a link's queue and its parameters.
        #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
        pub enum QueueConfig {
            /// Never drops.
            Infinite {},
            $($(#[doc = $arrival_doc])+ $arrival($arrival_config),)*
            $($(#[doc = $other_doc])+ $(#[serde($other_name)])? $other($other_config),)*
            $($(#[doc = $frequent_doc])+ $(#[serde($frequent_name)])? $frequent($frequent_config),)*
        }

        /// Queues that decide at arrival.
        #[derive(Clone, Debug)]
        pub enum ArrivalQueue {
            /// Accepts every packet.
            Infinite,
            $($(#[doc = $arrival_doc])+ $arrival($arrival_type),)*
        }

        /// Queues that decide at departure.
        #[derive(Clone, Debug)]
        pub enum DepartureQueue<P> {
            $($(#[doc = $frequent_doc])+ $frequent(Box<$frequent<P>>),)*
            $($(#[doc = $other_doc])+ $other(Box<$other<P>>),)*
        }

        impl QueueConfig {
            /// Checks the parameters. The error names the parameter and what would be right.
            ///
            /// # Errors
            /// If a parameter is out of its range.
            pub fn check(&self) -> Result<(), QueueError> {
                match self {
                    QueueConfig::Infinite {} => Ok(()),
                    $(QueueConfig::$arrival(config) => config.check(),)*
                    $(QueueConfig::$frequent(config) => config.check(),)*
                    $(QueueConfig::$other(config) => config.check(),)*
                }
            }

            /// The queue for a link of `rate`. The configuration must have passed [`QueueConfig::check`]. `seed` determines
            /// the queue's own random numbers (FQ-CoDel's hash perturbation, the signals of Linux's `DualPi2`).
            pub fn build<P>(&self, $rate: Rate, $seed: u64) -> Queue<P> {
                match self {
                    QueueConfig::Infinite {} => Queue::Arrival(ArrivalQueue::Infinite),
                    $(QueueConfig::$arrival($config) => Queue::Arrival(ArrivalQueue::$arrival($arrival_new)),)*
                    $(QueueConfig::$frequent($config) => {
                        Queue::Departure(DepartureQueue::$frequent(Box::new($frequent_new)))
                    })*
                    $(QueueConfig::$other($config) => Queue::Departure(DepartureQueue::$other(Box::new($other_new))),)*
                }
            }
        }

        impl ArrivalQueue {
            /// Decides on a packet of this size that arrives at `now` and finds this backlog.
            #[inline]
            pub fn on_arrival(
                &mut self,
                $now: Time,
                $backlog: Backlog,
                $bytes: u32,
                $ecn: Ecn,
                $rng: &mut Rng,
            ) -> Admit {
                match self {
                    $(ArrivalQueue::$arrival($queue) => $arrive,)*
                    ArrivalQueue::Infinite => Admit::Enqueue,
                }
            }
        }

        impl<P: Packet> DepartureQueue<P> {
            /// Offers a packet that arrives at `now`. Packets that the queue drops, this one or others, are appended to
            /// `dropped`. Returns whether the packet was marked CE.
            #[allow(clippy::inline_always)] // once per packet-hop; a shaper is a second caller
            #[inline(always)]
            pub fn enqueue(&mut self, $now: Time, $packet: &P, rng: &mut Rng, $dropped: &mut Vec<Dropped<P>>) -> bool {
                match self {
                    $(DepartureQueue::$frequent($queue) => $frequent_in,)*
                    _ => self.enqueue_other($now, *$packet, rng, $dropped),
                }
            }

            #[inline(never)]
            fn enqueue_other(
                &mut self,
                $now: Time,
                $packet: P,
                $rng: &mut Rng,
                $dropped: &mut Vec<Dropped<P>>,
            ) -> bool {
                match self {
                    $(DepartureQueue::$other($queue) => $other_in,)*
                    $(DepartureQueue::$frequent(_) => unreachable!("it is asked directly"),)*
                }
            }

            /// Writes the packet to send at `now` on a free link to `place`. Returns whether the queue marked it. Packets
            /// dropped before it are appended to `dropped`. `None` if the queue is empty, or if it may not send a packet
            /// yet: see [`DepartureQueue::next_ready`].
            #[allow(clippy::inline_always)] // once per packet-hop; a shaper is a second caller
            #[inline(always)]
            pub fn dequeue(&mut self, $now: Time, $dropped: &mut Vec<Dropped<P>>, $place: &mut P) -> Option<bool> {
                match self {
                    $(DepartureQueue::$frequent($queue) => $frequent_out,)*
                    _ => self.dequeue_other($now, $dropped, $place),
                }
            }

            #[inline(never)]
            fn dequeue_other(&mut self, $now: Time, $dropped: &mut Vec<Dropped<P>>, place: &mut P) -> Option<bool> {
                let Dequeued { packet, marked } = match self {
                    $(DepartureQueue::$other($queue) => $other_out,)*
                    $(DepartureQueue::$frequent(_) => unreachable!("it is asked directly"),)*
                }?;
                *place = packet;
                Some(marked)
            }

            /// Packets waiting (the one in service has left the queue).
            pub fn packets(&self) -> u32 {
                match self {
                    $(DepartureQueue::$frequent(queue) => queue.packets(),)*
                    $(DepartureQueue::$other(queue) => queue.packets(),)*
                }
            }

            /// Bytes waiting.
            pub fn bytes(&self) -> u64 {
                match self {
                    $(DepartureQueue::$frequent(queue) => queue.bytes(),)*
                    $(DepartureQueue::$other(queue) => queue.bytes(),)*
                }
            }
        }
    };
}
pub(super) use queues;
