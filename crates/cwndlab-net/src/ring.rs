//! A ring buffer whose length is a power of two. It holds the packets of one link.

/// A FIFO ring buffer, which grows when it is full and never shrinks. The position of an element does not change while
/// the element is in the ring, so callers may store positions.
#[derive(Debug)]
pub(crate) struct Ring<T> {
    /// The length is 0 or a power of two.
    slots: Vec<T>,
    head: u64,
    tail: u64,
    /// There is room for elements at positions below this one. There is more room if `head` has advanced since
    /// `room_to` was computed.
    room_to: u64,
}

impl<T: Copy + Default> Ring<T> {
    pub(crate) const fn new() -> Ring<T> {
        Ring { slots: Vec::new(), head: 0, tail: 0, room_to: 0 }
    }
    /// The position of the oldest element.
    #[inline]
    pub(crate) fn head(&self) -> u64 {
        self.head
    }
    /// The position that the next element will get.
    #[inline]
    pub(crate) fn tail(&self) -> u64 {
        self.tail
    }
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == self.tail
    }
    /// Adds an element. `write` writes it directly into its slot; a value passed as an argument would first be copied
    /// to the stack.
    #[allow(clippy::inline_always)] // once per packet-hop
    #[inline(always)]
    pub(crate) fn push_with(&mut self, write: impl FnOnce(&mut T)) {
        if self.tail == self.room_to {
            self.make_room();
        }
        let mask = self.slots.len() - 1;
        write(&mut self.slots[self.tail as usize & mask]);
        self.tail += 1;
    }
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        let value = *self.front()?;
        self.head += 1;
        Some(value)
    }
    /// Removes the oldest element. The ring must not be empty.
    #[inline]
    pub(crate) fn drop_first(&mut self) {
        debug_assert!(!self.is_empty());
        self.head += 1;
    }
    #[inline]
    pub(crate) fn front(&self) -> Option<&T> {
        if self.is_empty() {
            return None;
        }
        Some(self.at(self.head))
    }
    /// The element at a position in `head..tail`.
    #[inline]
    pub(crate) fn at(&self, position: u64) -> &T {
        &self.slots[position as usize & (self.slots.len() - 1)]
    }

    /// Updates `room_to` from `head`, and doubles the ring if there is no room.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        if self.tail - self.head == self.slots.len() as u64 {
            self.grow();
        }
        self.room_to = self.head + self.slots.len() as u64;
    }

    /// Doubles the length of the full ring in place. A second allocation would leave the old one behind as unused
    /// memory.
    fn grow(&mut self) {
        let old = self.slots.len();
        self.slots.reserve_exact(old.max(16));
        self.slots.resize((old * 2).max(16), T::default());
        // The slot of an element is its position modulo the length. After doubling, an element whose position has the
        // bit `old` set belongs in another slot.
        for position in (self.head..self.tail).map(|position| position as usize).filter(|position| position & old != 0)
        {
            let at = position & (old - 1);
            self.slots[at + old] = self.slots[at];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn a_ring_is_a_fifo_with_positions(pushes in proptest::collection::vec(any::<Option<u16>>(), 0..200)) {
            let (mut ring, mut model) = (Ring::new(), VecDeque::new());
            for step in pushes {
                if let Some(value) = step {
                    ring.push_with(|slot| *slot = value);
                    model.push_back(value);
                } else {
                    prop_assert_eq!(ring.pop(), model.pop_front());
                }
                prop_assert_eq!(ring.tail() - ring.head(), model.len() as u64);
                for (i, value) in model.iter().enumerate() {
                    prop_assert_eq!(ring.at(ring.head() + i as u64), value);
                }
            }
        }
    }
}
