//! Slots: the IDs by which an application refers to its connections.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Values by slot number. The lowest free number is used first, so numbers stay small and runs repeat exactly.
#[derive(Clone, Debug)]
pub(crate) struct Slots<T> {
    values: Vec<Option<T>>,
    free: BinaryHeap<Reverse<u32>>,
}

impl<T> Slots<T> {
    pub(crate) fn new() -> Slots<T> {
        Slots { values: Vec::new(), free: BinaryHeap::new() }
    }
    /// Stores `value` and returns its slot number.
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(Reverse(free)) = self.free.pop() {
            self.values[free as usize] = Some(value);
            return free;
        }
        self.values.push(Some(value));
        (self.values.len() - 1) as u32
    }
    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut T> {
        self.values.get_mut(slot as usize)?.as_mut()
    }
    /// All values, by slot.
    pub(crate) fn values(&mut self) -> impl Iterator<Item = &mut T> {
        self.values.iter_mut().flatten()
    }
    pub(crate) fn remove(&mut self, slot: u32) {
        if self.values.get_mut(slot as usize).and_then(Option::take).is_some() {
            self.free.push(Reverse(slot));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Slots;

    #[test]
    fn the_lowest_free_slot_is_used_first() {
        let mut s = Slots::new();
        assert_eq!((s.insert('a'), s.insert('b'), s.insert('c')), (0, 1, 2));
        s.remove(2);
        s.remove(0);
        assert_eq!((s.insert('d'), s.insert('e'), s.insert('f')), (0, 2, 3));
        assert_eq!(s.get_mut(1), Some(&mut 'b'));
        assert_eq!(s.get_mut(9), None);
        s.remove(0);
        s.remove(0);
        assert_eq!((s.insert('g'), s.insert('h')), (0, 4), "a slot that is removed twice is free once");
    }

    /// A scan of the occupied slots would take 10^11 steps.
    #[test]
    fn an_insertion_does_not_visit_the_occupied_slots() {
        let mut s = Slots::new();
        assert!((0..400_000).all(|i| s.insert(i) == i));
        assert_eq!(s.insert(400_000), 400_000);
    }
}
