//! The records of a run.

use std::io::{self, Write};

use cwndlab_engine::Network;

use crate::column::Batch;
use crate::digest::digest;
use crate::table::Table as _;
use crate::tables::{Delays, Limits, SegmentRow, Segments, States, Timeouts, Windows, TABLES};
use crate::trace::{ns, pcapng, Flow};

/// The name of the observed node, and the names and ends of links, for traces.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The observed node, if there is one.
    pub node: Option<String>,
    /// The protocol of the packets.
    pub network: Network,
    /// Name of each link, with the nodes at its ends.
    pub links: Vec<(String, (u32, u32))>,
}

/// The tables of one run.
#[derive(Clone, Debug)]
pub struct Records {
    batches: Vec<Batch>,
    flows: Vec<Flow>,
    place: Place,
}

/// A trace format that other tools read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// For Wireshark, tshark, tcpdump, tcptrace.
    Pcapng,
    /// The text format of ns-2.
    Ns,
}

impl Records {
    /// The records in `batches`, which the caller passes in the order of [`TABLES`].
    pub(crate) fn new(batches: Vec<Batch>, flows: Vec<Flow>, place: Place) -> Records {
        debug_assert_eq!(batches.len(), TABLES.len());
        Records { batches, flows, place }
    }

    /// Names of the tables, in the order of [`TABLES`].
    pub fn names() -> impl Iterator<Item = &'static str> {
        TABLES.iter().map(|table| table.name)
    }

    /// A table by its name. The columns are shared, not copied.
    pub fn table(&self, name: &str) -> Option<&Batch> {
        let index = Self::names().position(|known| known == name)?;
        self.batches.get(index)
    }

    /// Returns a copy in which the tables `names` are empty, as if the probes that fill them had been off. Only "cwnd",
    /// "limits", "states", "timeouts" and "delays" can be emptied; all other tables are unchanged, even if `names`
    /// contains them.
    #[must_use]
    pub fn without(&self, names: &[&str]) -> Records {
        let batches = Self::names().zip(&self.batches).map(|(name, batch)| match name {
            _ if !names.contains(&name) => batch.clone(),
            "cwnd" => Windows::default().finish(),
            "limits" => Limits::default().finish(),
            "states" => States::default().finish(),
            "timeouts" => Timeouts::default().finish(),
            "delays" => Delays::default().finish(),
            _ => batch.clone(),
        });
        Records { batches: batches.collect(), flows: self.flows.clone(), place: self.place.clone() }
    }

    /// SHA-256 over all tables, in hexadecimal. Equal records have the same digest on every platform.
    pub fn digest(&self) -> String {
        digest(Self::names().zip(&self.batches))
    }

    /// Writes the segments, as seen at the observed node, in the given format.
    ///
    /// # Errors
    ///
    /// If writing fails, or the run observed no segments.
    pub fn write_trace(&self, format: TraceFormat, out: &mut impl Write) -> io::Result<()> {
        let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
        let node = self.place.node.as_deref().ok_or_else(|| {
            invalid("the run observed no segments: the scenario's probe segments_at names no node".into())
        })?;
        let batch = self.table(Segments::DOC.name).ok_or_else(|| invalid("there is no table of segments".into()))?;
        let rows: Vec<SegmentRow> = Segments::rows(batch).map_err(|error| invalid(error.to_string()))?.collect();
        match format {
            TraceFormat::Pcapng => {
                let links: Vec<String> = self.place.links.iter().map(|(name, _)| name.clone()).collect();
                pcapng::write(out, node, &rows, &self.flows, &links, self.place.network)
            }
            TraceFormat::Ns => {
                let links: Vec<(u32, u32)> = self.place.links.iter().map(|&(_, nodes)| nodes).collect();
                ns::write(out, &rows, &self.flows, &links)
            }
        }
    }
}
