//! Which segments belong to one connection of two ends that may use the same ports again.

use cwndlab_tcp::Flags;

/// The life of a connection between two ends, as far as its segments show it.
///
/// A SYN opens another connection, unless it repeats the SYN of this one, which a RST may have answered, or is that of the other
/// end in a simultaneous open (RFC 9293, section 3.5).
#[derive(Clone, Copy, Debug, Default)]
pub struct Lifetime {
    /// The sequence numbers of the SYNs of the first and of the other end, without ACK.
    syns: [Option<u32>; 2],
    /// Whether anything but SYNs without ACK was seen.
    answered: bool,
    /// Whether a FIN or RST was seen.
    closed: bool,
    /// Whether a RST was the first answer to a SYN. Some hosts then send the same SYN again.
    refused: bool,
}

/// Whether a segment asks for a connection.
pub fn opens(flags: Flags) -> bool {
    flags.has(Flags::SYN) && !flags.has(Flags::ACK)
}

impl Lifetime {
    /// Whether a segment opens another connection. `from_first`: it is from the first of the two ends, which is always the
    /// same.
    pub fn is_over(&self, flags: Flags, seq: u32, from_first: bool) -> bool {
        let known = self.syns[usize::from(!from_first)];
        let is_other = known.map_or(self.answered, |known| known != seq);
        opens(flags) && (is_other || (self.closed && !self.refused))
    }

    /// Takes a segment of the connection.
    pub fn note(&mut self, flags: Flags, seq: u32, from_first: bool) {
        if opens(flags) {
            self.syns[usize::from(!from_first)].get_or_insert(seq);
        } else {
            self.refused |= !self.answered && flags.has(Flags::RST);
            self.refused &= flags.has(Flags::RST);
            self.answered = true;
        }
        self.closed |= flags.has(Flags::FIN) || flags.has(Flags::RST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYN_ACK: Flags = Flags(Flags::SYN.0 | Flags::ACK.0);

    /// The connection's segments so far, as flags, sequence number and whether the first end sent it.
    fn after(segments: &[(Flags, u32, bool)]) -> Lifetime {
        let mut lifetime = Lifetime::default();
        for &(flags, seq, from_first) in segments {
            lifetime.note(flags, seq, from_first);
        }
        lifetime
    }

    #[test]
    fn a_syn_opens_another_connection_after_a_fin_a_reset_or_with_another_number() {
        let open = [(Flags::SYN, 7, true), (SYN_ACK, 3, false), (Flags::ACK, 8, true)];
        assert!(!after(&open).is_over(Flags::SYN, 7, true), "it is the same SYN again");
        assert!(after(&open).is_over(Flags::SYN, 9, true));
        assert!(after(&open).is_over(Flags::SYN, 9, false), "the other end opens");
        assert!(!after(&open).is_over(SYN_ACK, 9, false));
        assert!(!after(&open).is_over(Flags::ACK, 9, true));
        for end in [Flags::FIN, Flags::RST] {
            let closed = [&open[..], &[(end, 8, false)]].concat();
            assert!(after(&closed).is_over(Flags::SYN, 7, true));
        }
    }

    #[test]
    fn the_same_syn_again_after_a_refusal_belongs_to_the_same_attempt() {
        let refused = after(&[(Flags::SYN, 7, true), (Flags::RST, 0, false)]);
        assert!(!refused.is_over(Flags::SYN, 7, true));
        assert!(refused.is_over(Flags::SYN, 8, true));
    }

    #[test]
    fn both_syns_of_a_simultaneous_open_belong_to_one_connection() {
        let one = after(&[(Flags::SYN, 7, true)]);
        assert!(!one.is_over(Flags::SYN, 3, false));
        assert!(one.is_over(Flags::SYN, 8, true), "the first end begins another");
        let both = after(&[(Flags::SYN, 7, true), (Flags::SYN, 3, false), (SYN_ACK, 7, true)]);
        assert!(!both.is_over(Flags::SYN, 3, false) && both.is_over(Flags::SYN, 4, false));
    }

    #[test]
    fn a_syn_opens_another_connection_if_the_capture_began_amid_the_last() {
        assert!(after(&[(Flags::ACK, 8, true)]).is_over(Flags::SYN, 9, true));
    }
}
