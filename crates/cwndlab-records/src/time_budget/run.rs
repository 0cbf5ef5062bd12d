//! The content of one run's record tables up to a given time: connections, objects, and the events at each end.

use cwndlab_engine::Scenario;
use cwndlab_units::Time;

use super::paths::{nanoseconds, Paths, Way};
use super::timeline::{End, Timeline};
use super::{Kind, Tables, TimeBudgetError};
use crate::column::Batch;
use crate::table::Table;
use crate::tables::{
    Connections, Delays, ExpiredTimer, Limits, Objects, SendLimit, SenderState, States, Timeouts, Windows,
};

/// A finished object.
pub(super) struct Object {
    pub(super) kind: Kind,
    pub(super) index: u32,
    pub(super) traffic: u32,
    pub(super) start: i64,
    pub(super) end: i64,
}

/// A connection, or a datagram flow.
pub(super) struct Connection {
    pub(super) serial: u32,
    pub(super) traffic: u32,
    pub(super) start: i64,
    /// `None` if the connection was still open at the end.
    pub(super) end: Option<i64>,
    /// The paths of packets from the client and to the client.
    from_client: Way,
    to_client: Way,
}

/// A packet that arrived at an end of a connection.
#[derive(Clone, Copy)]
pub(super) struct Arrived {
    pub(super) delay: i64,
    pub(super) len: u32,
}

/// A packet that arrived in any connection of a traffic entry.
#[derive(Clone, Copy)]
pub(super) struct OfTraffic {
    /// The connection's end at which the packet arrived.
    pub(super) at: End,
    pub(super) len: u32,
}

/// An expiry of a timer.
#[derive(Clone, Copy)]
pub(super) struct Expired {
    pub(super) timer: ExpiredTimer,
    /// When the timer was set.
    pub(super) set: i64,
    pub(super) backoffs: u32,
}

/// One run, up to a given time.
pub(super) struct Run {
    end: i64,
    connections: Vec<Connection>,
    objects: Vec<Object>,
    /// The arrivals at each end of a connection. `by_traffic` groups the same arrivals by the ends of traffic entries.
    pub(super) arrivals: Timeline<Arrived>,
    pub(super) by_traffic: Timeline<OfTraffic>,
    /// What limited each sender. The time of a row is that at which the limit began.
    pub(super) limits: Timeline<SendLimit>,
    pub(super) states: Timeline<SenderState>,
    pub(super) timeouts: Timeline<Expired>,
    slow_start: SlowStart,
}

/// When senders were in slow start.
enum SlowStart {
    /// Derived from samples of cwnd. A row is true if cwnd was below ssthresh.
    Sampled(Timeline<bool>),
    /// For each sender, the time of the first reduction of its window, until which it was in slow start. Used if there
    /// are no samples of cwnd, as for runs on a kernel.
    Until(Vec<i64>),
}

impl Run {
    /// Reads the tables up to `until`. Rows of connections that are not in `connections` are skipped.
    pub(super) fn read(scenario: &Scenario, tables: &Tables, until: Time) -> Result<Run, TimeBudgetError> {
        let is_whole = until >= scenario.duration_ns;
        let reader = Reader { tables, end: nanoseconds(until.as_nanos()), is_whole };
        let connections = reader.connections(scenario)?;
        let (owners, positions) = (connections.len(), Positions::new(&connections));
        let end = |serial: u32, is_client: bool| Some(End::new(positions.of(serial)?, is_client));

        let packets = reader.count::<Delays>();
        let (mut arrivals, mut by_traffic) = (Vec::with_capacity(packets), Vec::with_capacity(packets));
        reader.each::<Delays>(|row| {
            let time = nanoseconds(row.time_ns);
            if let Some(at) = end(row.connection, !row.from_client).filter(|_| reader.is_early(time)) {
                let flow = End::new(connections[at.owner()].traffic as usize, at.is_client());
                arrivals.push((at, time, Arrived { delay: nanoseconds(row.delay_ns), len: row.len }));
                by_traffic.push((flow, time, OfTraffic { at, len: row.len }));
            }
        })?;
        let limits = reader.timeline::<Limits, _>(owners, |row| {
            Some((end(row.connection, row.from_client)?, nanoseconds(row.from_ns), row.limit.0))
        })?;
        let states = reader.timeline::<States, _>(owners, |row| {
            Some((end(row.connection, row.from_client)?, nanoseconds(row.from_ns), row.state.0))
        })?;
        let timeouts = reader.timeline::<Timeouts, _>(owners, |row| {
            let expired = Expired { timer: row.timer.0, set: nanoseconds(row.set_ns), backoffs: row.backoffs };
            Some((end(row.connection, row.from_client)?, nanoseconds(row.time_ns), expired))
        })?;
        let windows = reader.timeline::<Windows, _>(owners, |row| {
            let is_below = row.ssthresh_bytes.is_none_or(|ssthresh| row.cwnd_bytes < ssthresh);
            Some((end(row.connection, row.from_client)?, nanoseconds(row.time_ns), is_below))
        })?;
        Ok(Run {
            end: reader.end,
            objects: reader.objects(scenario)?,
            arrivals: Timeline::new(owners, &arrivals),
            by_traffic: Timeline::new(scenario.traffic.len(), &by_traffic),
            slow_start: SlowStart::new(windows, &states, owners),
            limits,
            states,
            timeouts,
            connections,
        })
    }

    /// The end of the run, or the time up to which its tables were read.
    pub(super) fn end(&self) -> i64 {
        self.end
    }

    /// The finished objects, in the order of the records.
    pub(super) fn objects(&self) -> impl Iterator<Item = &Object> {
        self.objects.iter()
    }

    pub(super) fn connections(&self) -> &[Connection] {
        &self.connections
    }

    pub(super) fn connection(&self, end: End) -> &Connection {
        &self.connections[end.owner()]
    }

    /// The path of a sender's packets.
    pub(super) fn way(&self, sender: End) -> &Way {
        let connection = self.connection(sender);
        if sender.is_client() {
            &connection.from_client
        } else {
            &connection.to_client
        }
    }

    /// Whether a sender was in slow start just before `time`.
    pub(super) fn was_in_slow_start(&self, sender: End, time: i64) -> bool {
        match &self.slow_start {
            SlowStart::Sampled(is_below) => is_below.before(sender, time).is_none_or(|at| *is_below.row(at)),
            SlowStart::Until(reduced) => time <= reduced[sender.index()],
        }
    }
}

impl SlowStart {
    fn new(windows: Timeline<bool>, states: &Timeline<SenderState>, owners: usize) -> SlowStart {
        if !windows.is_empty() {
            return SlowStart::Sampled(windows);
        }
        let is_reduced =
            |at: &usize| matches!(states.row(*at), SenderState::Cwr | SenderState::Recovery | SenderState::Loss);
        let ends = (0..owners).flat_map(|owner| [End::new(owner, false), End::new(owner, true)]);
        let first = |end| states.of(end).find(is_reduced).map_or(i64::MAX, |at| states.time(at));
        SlowStart::Until(ends.map(first).collect())
    }
}

/// Positions in the list of connections, by serial number.
struct Positions(Vec<Option<usize>>);

impl Positions {
    /// Serial numbers count connections in order. A number far beyond the count of connections is not stored, because a
    /// table that this crate did not write may hold any value.
    fn new(connections: &[Connection]) -> Positions {
        let most = 16 * connections.len() + 65_536;
        let serials =
            || connections.iter().map(|connection| connection.serial as usize).filter(|&serial| serial < most);
        let mut positions = vec![None; serials().max().map_or(0, |largest| largest + 1)];
        for (at, serial) in connections.iter().map(|connection| connection.serial as usize).enumerate() {
            if let Some(position) = positions.get_mut(serial) {
                *position = Some(at);
            }
        }
        Positions(positions)
    }

    fn of(&self, serial: u32) -> Option<usize> {
        *self.0.get(serial as usize)?
    }
}

/// Reads tables up to the time `end`.
struct Reader<'a> {
    tables: &'a Tables,
    end: i64,
    /// Whether `end` is the end of the run, at which events still count.
    is_whole: bool,
}

impl Reader<'_> {
    fn is_early(&self, time: i64) -> bool {
        self.is_whole || time < self.end
    }

    fn count<T: Table>(&self) -> usize {
        self.tables.get(T::DOC.name).map_or(0, |batches| batches.iter().map(Batch::rows).sum())
    }

    fn each<T: Table>(&self, mut see: impl FnMut(T::Row)) -> Result<(), TimeBudgetError> {
        let batches = self.tables.get(T::DOC.name).ok_or(TimeBudgetError::Missing(T::DOC.name))?;
        for batch in batches {
            T::rows(batch)?.for_each(&mut see);
        }
        Ok(())
    }

    fn timeline<T: Table, R: Copy>(
        &self,
        owners: usize,
        entry: impl Fn(T::Row) -> Option<(End, i64, R)>,
    ) -> Result<Timeline<R>, TimeBudgetError> {
        let mut entries = Vec::with_capacity(self.count::<T>());
        self.each::<T>(|row| entries.extend(entry(row).filter(|&(_, time, _)| self.is_early(time))))?;
        Ok(Timeline::new(owners, &entries))
    }

    fn connections(&self, scenario: &Scenario) -> Result<Vec<Connection>, TimeBudgetError> {
        let mut rows = Vec::new();
        self.each::<Connections>(|row| rows.push(row))?;
        let mut paths = Paths::new(scenario);
        let mut found = Vec::new();
        for row in rows.into_iter().filter(|row| self.is_early(nanoseconds(row.start_ns))) {
            let ours = |column, index: u32, count| {
                let error = TimeBudgetError::Foreign { connection: row.connection, column, index, count };
                if (index as usize) < count {
                    Ok(())
                } else {
                    Err(error)
                }
            };
            ours("traffic", row.traffic, scenario.traffic.len())?;
            ours("client", row.client, scenario.nodes.len())?;
            ours("server", row.server, scenario.nodes.len())?;
            let traffic = &scenario.traffic[row.traffic as usize];
            found.push(Connection {
                serial: row.connection,
                traffic: row.traffic,
                start: nanoseconds(row.start_ns),
                end: row.end_ns.map(nanoseconds).filter(|&end| self.is_early(end)),
                from_client: paths.way(row.client, row.server, traffic.tcp_client)?,
                to_client: paths.way(row.server, row.client, traffic.tcp_server)?,
            });
        }
        Ok(found)
    }

    fn objects(&self, scenario: &Scenario) -> Result<Vec<Object>, TimeBudgetError> {
        let mut found = Vec::new();
        self.each::<Objects>(|row| {
            let end = row.end_ns.map(nanoseconds).filter(|&end| row.finished && self.is_early(end));
            if let (Some(end), true) = (end, (row.traffic as usize) < scenario.traffic.len()) {
                let (kind, start) = (row.kind.0.into(), nanoseconds(row.start_ns));
                found.push(Object { kind, index: row.index, traffic: row.traffic, start, end });
            }
        })?;
        Ok(found)
    }
}
