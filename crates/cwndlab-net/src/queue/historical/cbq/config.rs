//! Parameters of CBQ.

use cwndlab_units::{Rate, Time};
use serde::{Deserialize, Serialize};

use crate::queue::config::positive;
use crate::queue::{ClassError, QueueConfig, QueueError};

/// The ancestors from which a class over its limit may borrow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// A class may borrow from an ancestor within its limit, unless a class at a lower level than that ancestor is
    /// unsatisfied. A class is unsatisfied if it is within its limit and has packets waiting (formal link-sharing
    /// guidelines, Floyd and Jacobson 1995, section 2.2).
    #[default]
    Formal,
    /// A class may borrow from any ancestor within its limit (Floyd and Jacobson 1995, section 3.2).
    AncestorsOnly,
}

/// Parameters of [`super::Cbq`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CbqConfig {
    /// The classes, each after its parent.
    pub classes: Vec<CbqClassConfig>,
    /// Index in `classes` of the leaf class for packets that no class claims.
    pub default: usize,
    /// When a class may borrow.
    #[serde(default)]
    pub sharing: Sharing,
}

/// One class of [`CbqConfig`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CbqClassConfig {
    /// Index in `classes` of the parent; none for a root.
    #[serde(default)]
    pub parent: Option<usize>,
    /// The class's share of the link, in bit/s.
    pub rate_bps: Rate,
    /// Leaf classes with a lower value are served first. Those with the same value are served by weighted round robin.
    #[serde(default)]
    pub priority: u8,
    /// If set, the class never sends above its rate. Otherwise it may borrow, and may use an otherwise idle link.
    #[serde(default)]
    pub bounded: bool,
    /// For a leaf: names of the traffic whose packets belong to it, in both directions. In the simulator only.
    #[serde(default)]
    pub traffic: Vec<String>,
    /// For each name in `traffic`, the ID that its packets carry ([`crate::Packet::traffic`]). Set by
    /// [`QueueConfig::number_traffic`].
    #[serde(skip)]
    pub numbers: Vec<u8>,
    /// For a leaf: the flow keys ([`crate::Packet::flow_key`]) whose packets belong to it.
    #[serde(default)]
    pub flows: Vec<u64>,
    /// For a leaf: its queue, which must decide at arrival (infinite, drop-tail, red or linux-red). The queue treats
    /// the class's rate as that of the link: a sent packet counts as in service for its transmission time at the
    /// class's rate.
    #[serde(default)]
    pub queue: Option<Box<QueueConfig>>,
    /// How many packets of `max_packet_bytes` may follow each other at the link's speed after a pause. Determines the
    /// estimator's upper bound `maxidle`.
    #[serde(default = "default_max_burst")]
    pub max_burst: u32,
    /// The absolute value of the estimator's negative lower bound `minidle`. It limits the excess that
    /// a class has to repay after borrowing. If left out, there is no limit.
    #[serde(default)]
    pub min_idle_ns: Option<Time>,
    /// The largest packet, in bytes.
    #[serde(default = "default_max_packet_bytes")]
    pub max_packet_bytes: u32,
}

fn default_max_burst() -> u32 {
    1
}
fn default_max_packet_bytes() -> u32 {
    1500
}

impl CbqConfig {
    /// Whether the class at `index` has no children.
    pub(super) fn is_leaf(&self, index: usize) -> bool {
        self.classes.iter().all(|class| class.parent != Some(index))
    }

    /// Names of the traffic that the classes claim.
    pub(in crate::queue) fn traffic(&self) -> impl Iterator<Item = &str> {
        self.classes.iter().flat_map(|class| class.traffic.iter().map(String::as_str))
    }

    pub(in crate::queue) fn check(&self) -> Result<(), QueueError> {
        for (index, class) in self.classes.iter().enumerate() {
            let wrong = |error| QueueError::Class { index, error: Box::new(error) };
            self.check_class(index, class).map_err(wrong)?;
        }
        if self.default >= self.classes.len() || !self.is_leaf(self.default) {
            return Err(QueueError::DefaultClass(self.default));
        }
        let mut flows: Vec<u64> = self.classes.iter().flat_map(|class| class.flows.iter().copied()).collect();
        flows.sort_unstable();
        if let Some([flow, ..]) = flows.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(QueueError::FlowTwice(*flow));
        }
        let mut traffic: Vec<&str> = self.traffic().collect();
        traffic.sort_unstable();
        if let Some([name, ..]) = traffic.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(QueueError::TrafficTwice((*name).to_owned()));
        }
        Ok(())
    }

    fn check_class(&self, index: usize, class: &CbqClassConfig) -> Result<(), ClassError> {
        positive("rate_bps", class.rate_bps.as_bps())?;
        positive("max_packet_bytes", u64::from(class.max_packet_bytes))?;
        if !(1..=1000).contains(&class.max_burst) {
            return Err(ClassError::Burst(class.max_burst));
        }
        if let Some(parent) = class.parent.filter(|&parent| parent >= index) {
            return Err(ClassError::Parent(parent));
        }
        let children = self.classes.iter().filter(|child| child.parent == Some(index));
        let children_bps = children.fold(0_u64, |sum, child| sum.saturating_add(child.rate_bps.as_bps()));
        let rate_bps = class.rate_bps.as_bps();
        if children_bps > rate_bps {
            return Err(ClassError::ChildrenTooFast { rate_bps, children_bps });
        }
        match (&class.queue, self.is_leaf(index)) {
            (None, true) => Err(ClassError::NoQueue),
            (Some(_), false) => Err(ClassError::QueueOfParent),
            (None, false) if !class.flows.is_empty() || !class.traffic.is_empty() => Err(ClassError::TrafficOfParent),
            (Some(queue), true) => match **queue {
                QueueConfig::Infinite {}
                | QueueConfig::DropTail(_)
                | QueueConfig::Red(_)
                | QueueConfig::LinuxRed(_) => Ok(queue.check()?),
                _ => Err(ClassError::QueueKind),
            },
            (None, false) => Ok(()),
        }
    }
}
