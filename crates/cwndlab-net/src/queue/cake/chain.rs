//! Doubly linked lists of flows, as the kernel's `list_head`: a flow is in one list or in none.

/// The lists of a tin.
pub(super) const NEW: usize = 0;
pub(super) const OLD: usize = 1;
pub(super) const DECAYING: usize = 2;

/// The lists, whose heads come after the flows.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    /// Following and preceding element.
    links: Vec<(u16, u16)>,
    flows: usize,
}

impl Chain {
    pub(super) fn new(flows: usize) -> Chain {
        let heads = [NEW, OLD, DECAYING].len();
        Chain { links: (0..flows + heads).map(|k| (k as u16, k as u16)).collect(), flows }
    }

    /// The first flow of a list.
    pub(super) fn first(&self, list: usize) -> Option<usize> {
        let head = self.flows + list;
        let first = usize::from(self.links[head].0);
        (first != head).then_some(first)
    }

    /// Takes a flow out of its list.
    pub(super) fn remove(&mut self, flow: usize) {
        let (next, previous) = self.links[flow];
        self.links[usize::from(previous)].0 = next;
        self.links[usize::from(next)].1 = previous;
        self.links[flow] = (flow as u16, flow as u16);
    }

    /// Moves a flow to the end of a list.
    pub(super) fn move_to_tail(&mut self, list: usize, flow: usize) {
        self.remove(flow);
        let head = self.flows + list;
        let tail = self.links[head].1;
        self.links[flow] = (head as u16, tail);
        self.links[usize::from(tail)].0 = flow as u16;
        self.links[head].1 = flow as u16;
    }
}
