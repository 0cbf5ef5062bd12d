//! The bytes of the packets inside the router.

/// Buffers, each with the number of packets that share it (a duplicate shares the buffer of its original).
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    slots: Vec<(Vec<u8>, u32)>,
    free: Vec<u32>,
}

impl Buffers {
    /// Copies a packet into a free buffer, with one owner. Returns the buffer's index.
    pub(crate) fn insert(&mut self, bytes: &[u8]) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push((Vec::new(), 0));
            (self.slots.len() - 1) as u32
        });
        let (buffer, owners) = &mut self.slots[index as usize];
        buffer.clear();
        buffer.extend_from_slice(bytes);
        *owners = 1;
        index
    }
    /// Adds an owner.
    pub(crate) fn share(&mut self, index: u32) {
        self.slots[index as usize].1 += 1;
    }
    /// Removes an owner.
    pub(crate) fn release(&mut self, index: u32) {
        let owners = &mut self.slots[index as usize].1;
        *owners -= 1;
        if *owners == 0 {
            self.free.push(index);
        }
    }
    pub(crate) fn bytes(&self, index: u32) -> &[u8] {
        &self.slots[index as usize].0
    }
    /// Number of buffers in use.
    pub(crate) fn in_use(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
