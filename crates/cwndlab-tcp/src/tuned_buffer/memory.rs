//! The memory that a packet occupies in a receive buffer, as with tun devices.

/// Overhead of a packet's memory, in bytes: `struct sk_buff`, outside of the buffer; `struct skb_shared_info`, after
/// the data; `NET_SKB_PAD`, before the data; and the unit to which padding and data are rounded up.
pub(crate) const HEAD_BYTES: u32 = 256;
pub(crate) const TAIL_BYTES: u32 = 320;
const PAD_BYTES: u32 = 64;
const LINE_BYTES: u32 = 64;
/// Size of the smallest buffer (`SKB_SMALL_HEAD_CACHE_SIZE`).
const SMALL_BUFFER: u32 = 704;
/// A page. Larger packets occupy whole pages (`tun_alloc_skb`).
const PAGE_BYTES: u32 = 4096;

/// Memory of a packet of this size including its IP header (`skb->truesize`).
pub(super) fn memory(packet_bytes: u32) -> u32 {
    buffer(packet_bytes) + HEAD_BYTES
}

/// Bytes of a packet's buffer that are free after its data (`skb_tailroom`); pages have none.
pub(super) fn room_after(packet_bytes: u32) -> u32 {
    (buffer(packet_bytes) - packet_bytes).saturating_sub(PAD_BYTES + TAIL_BYTES)
        * u32::from(PAD_BYTES + packet_bytes < PAGE_BYTES)
}

/// The allocator's buffer for a packet.
fn buffer(packet_bytes: u32) -> u32 {
    if PAD_BYTES + packet_bytes >= PAGE_BYTES {
        return packet_bytes.next_multiple_of(PAGE_BYTES);
    }
    let data = (PAD_BYTES + packet_bytes).next_multiple_of(LINE_BYTES) + TAIL_BYTES;
    data.next_power_of_two().max(SMALL_BUFFER)
}
