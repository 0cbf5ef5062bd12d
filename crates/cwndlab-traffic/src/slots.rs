//! Slots: the IDs by which an application refers to its connections.

/// Values by slot number. The lowest free number is used first, so numbers stay small and runs repeat exactly.
#[derive(Clone, Debug)]
pub(crate) struct Slots<T>(Vec<Option<T>>);

impl<T> Slots<T> {
    pub(crate) fn new() -> Slots<T> {
        Slots(Vec::new())
    }
    /// Stores `value` and returns its slot number.
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        // An application has a handful of connections, so a scan is faster than a free list.
        if let Some(free) = self.0.iter().position(Option::is_none) {
            self.0[free] = Some(value);
            return free as u32;
        }
        self.0.push(Some(value));
        (self.0.len() - 1) as u32
    }
    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut T> {
        self.0.get_mut(slot as usize)?.as_mut()
    }
    /// All values, by slot.
    pub(crate) fn values(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().flatten()
    }
    pub(crate) fn remove(&mut self, slot: u32) {
        if let Some(s) = self.0.get_mut(slot as usize) {
            *s = None;
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
    }
}
