//! A ring buffer whose length is a power of two. It holds the packets of a link and the outstanding segments of a
//! connection.

use std::fmt;

/// A FIFO ring buffer, which grows when it is full. The position of an element does not change while the element is in
/// the ring, so callers may store positions.
#[derive(Clone)]
pub struct Ring<T> {
    /// The length is 0 or a power of two.
    slots: Vec<T>,
    head: u64,
    tail: u64,
    /// There is room for elements at positions below this one. There is more room if `head` has advanced since
    /// `room_to` was computed.
    room_to: u64,
}

impl<T> Default for Ring<T> {
    fn default() -> Ring<T> {
        Ring::new()
    }
}

impl<T> Ring<T> {
    /// An empty ring, without memory.
    pub const fn new() -> Ring<T> {
        Ring { slots: Vec::new(), head: 0, tail: 0, room_to: 0 }
    }
    /// The position of the oldest element.
    #[inline]
    pub fn head(&self) -> u64 {
        self.head
    }
    /// The position that the next element will get.
    #[inline]
    pub fn tail(&self) -> u64 {
        self.tail
    }
    /// Whether there is no element.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }
    /// Number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        (self.tail - self.head) as usize
    }
    /// Removes the oldest element. The ring must not be empty.
    #[inline]
    pub fn drop_first(&mut self) {
        debug_assert!(!self.is_empty());
        self.head += 1;
    }
    /// Removes the newest element. The ring must not be empty.
    #[inline]
    pub fn drop_last(&mut self) {
        debug_assert!(!self.is_empty());
        self.tail -= 1;
    }
    /// Removes all elements at positions below this one, which must not be beyond the tail.
    #[inline]
    pub fn drop_below(&mut self, position: u64) {
        debug_assert!((self.head..=self.tail).contains(&position));
        self.head = position;
    }
    /// The oldest element.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.is_empty() {
            return None;
        }
        Some(self.at(self.head))
    }
    /// The newest element.
    #[inline]
    pub fn back(&self) -> Option<&T> {
        if self.is_empty() {
            return None;
        }
        Some(self.at(self.tail - 1))
    }
    /// The element at a position in `head..tail`.
    #[inline]
    pub fn at(&self, position: u64) -> &T {
        let mask = self.mask();
        &self.slots[position as usize & mask]
    }
    /// The element at a position in `head..tail`.
    #[inline]
    pub fn at_mut(&mut self, position: u64) -> &mut T {
        let mask = self.mask();
        &mut self.slots[position as usize & mask]
    }
    /// A position has its slot at these bits of it. There must be a slot.
    #[inline]
    fn mask(&self) -> usize {
        // The only check of the index that is left: the compiler sees that a masked position is below the length.
        let (mask, is_empty) = self.slots.len().overflowing_sub(1);
        assert!(!is_empty, "the ring has no slots");
        mask
    }
    /// The element at a position; `None` if the position is not in `head..tail`.
    #[inline]
    pub fn get(&self, position: u64) -> Option<&T> {
        (self.head..self.tail).contains(&position).then(|| self.at(position))
    }
    /// The elements at this position and later, oldest first.
    pub fn iter_from(&self, position: u64) -> impl DoubleEndedIterator<Item = &T> {
        (position.max(self.head)..self.tail).map(|position| self.at(position))
    }
    /// All elements, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.iter_from(self.head)
    }
    /// The position of the first element for which `holds` is false. It must be true for all elements before and for
    /// none after.
    pub fn partition_point(&self, holds: impl Fn(&T) -> bool) -> u64 {
        let (mut low, mut high) = (self.head, self.tail);
        while low < high {
            let middle = low + (high - low) / 2;
            if holds(self.at(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
    /// Frees the memory of an empty ring.
    pub fn free(&mut self) {
        if self.is_empty() {
            (self.slots, self.room_to) = (Vec::new(), self.tail);
        }
    }
    /// Number of elements for which there is memory.
    pub fn capacity(&self) -> usize {
        self.slots.capacity()
    }
}

impl<T: Copy + Default> Ring<T> {
    /// Adds an element. `write` writes it directly into its slot; a value passed as an argument would first be copied
    /// to the stack.
    #[allow(clippy::inline_always)] // once per packet-hop
    #[inline(always)]
    pub fn push_with(&mut self, write: impl FnOnce(&mut T)) {
        write(self.next_slot());
        self.tail += 1;
    }
    /// The slot of the element that is added next. What is written to it stays there until then.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub fn next_slot(&mut self) -> &mut T {
        if self.tail == self.room_to {
            self.make_room();
        }
        let mask = self.mask();
        &mut self.slots[self.tail as usize & mask]
    }
    /// Adds an element.
    #[allow(clippy::inline_always)] // once per packet
    #[inline(always)]
    pub fn push(&mut self, value: T) {
        self.push_with(|slot| *slot = value);
    }
    /// Removes and returns the oldest element.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let value = *self.front()?;
        self.head += 1;
        Some(value)
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
        self.slots.reserve_exact(old.max(LEAST));
        self.slots.resize((old * 2).max(LEAST), T::default());
        // The slot of an element is its position modulo the length. After doubling, an element whose position has the
        // bit `old` set belongs in another slot.
        for position in (self.head..self.tail).map(|position| position as usize).filter(|position| position & old != 0)
        {
            let at = position & (old - 1);
            self.slots[at + old] = self.slots[at];
        }
    }
}

/// The first length.
const LEAST: usize = 8;

/// Lists the elements, so that rings with the same elements are printed alike.
impl<T: fmt::Debug> fmt::Debug for Ring<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
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
                    ring.push(value);
                    model.push_back(value);
                    if value % 3 == 0 {
                        let first = ring.head();
                        *ring.at_mut(first) = value;
                        model[0] = value;
                    }
                    if value % 5 == 0 {
                        ring.drop_last();
                        model.pop_back();
                    }
                } else {
                    prop_assert_eq!(ring.pop(), model.pop_front());
                }
                prop_assert_eq!((ring.len(), ring.front(), ring.back()), (model.len(), model.front(), model.back()));
                for (i, value) in model.iter().enumerate() {
                    prop_assert_eq!(ring.get(ring.head() + i as u64), Some(value));
                }
                prop_assert_eq!(ring.get(ring.tail()), None);
                prop_assert_eq!(format!("{ring:?}"), format!("{model:?}"));
                if ring.is_empty() {
                    ring.free();
                    prop_assert_eq!(ring.capacity(), 0);
                }
            }
        }

        #[test]
        fn a_search_finds_the_first_element_that_differs(values in proptest::collection::vec(0..50_u8, 0..40), at in 0..50_u8) {
            let (mut ring, mut sorted) = (Ring::new(), values);
            sorted.sort_unstable();
            for &value in &sorted {
                ring.push(value);
            }
            ring.drop_below(sorted.len() as u64 / 3);
            let expected = sorted[sorted.len() / 3..].partition_point(|&value| value < at) as u64 + ring.head();
            prop_assert_eq!(ring.partition_point(|&value| value < at), expected);
        }
    }
}
