//! A queueing discipline of Linux in place of one of ours. Only the router of a study on a kernel has one: packets pass a
//! device of that kernel before they enter the link.

use serde::{Deserialize, Serialize};

use super::{Admit, QueueError};

/// A queueing discipline of a kernel.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KernelQueueConfig {
    /// The discipline with its options, in the words of `tc qdisc add`, such as `cake bandwidth 10mbit` or `fq_codel
    /// limit 1000`.
    pub qdisc: String,
}

impl KernelQueueConfig {
    pub(super) fn check(&self) -> Result<(), QueueError> {
        if self.name().is_empty() {
            return Err(QueueError::NoDiscipline);
        }
        Ok(())
    }

    /// The discipline's name.
    fn name(&self) -> &str {
        self.qdisc.split_whitespace().next().unwrap_or_default()
    }

    /// Whether the discipline drops packets only because it is full.
    pub fn is_plain_fifo(&self) -> bool {
        ["pfifo", "bfifo", "pfifo_fast"].contains(&self.name())
    }
}

/// What the link has in its place: packets enter the link once the kernel's queue has let them go.
#[derive(Clone, Copy, Debug)]
pub struct KernelQueue;

impl From<&KernelQueueConfig> for KernelQueue {
    fn from(_: &KernelQueueConfig) -> KernelQueue {
        KernelQueue
    }
}

impl From<KernelQueue> for Admit {
    fn from(_: KernelQueue) -> Admit {
        Admit::Enqueue
    }
}

#[cfg(test)]
mod tests {
    use crate::queue::QueueConfig;

    #[test]
    fn a_discipline_needs_a_name() {
        let config: QueueConfig = serde_json::from_value(serde_json::json!({"kind": "kernel", "qdisc": " "})).unwrap();
        assert!(config.check().unwrap_err().to_string().contains("tc qdisc add"));
    }
}
