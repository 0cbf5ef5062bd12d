//! Why a connection failed.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// Why a connection failed, in the words of its TCP or its stack.
///
/// There are few different reasons in a process, so each text is kept once and for ever; a record then holds a reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reason(&'static str);

static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

impl Reason {
    /// The reason with this text.
    pub fn new(text: &str) -> Reason {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = known.get(text) {
            return Reason(text);
        }
        let kept: &'static str = Box::leak(text.into());
        known.insert(kept);
        Reason(kept)
    }

    /// The text.
    pub fn text(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_kept_once_and_shows_its_text() {
        let [one, other] = [0; 2].map(|_| Reason::new("the peer is gone"));
        assert_eq!((one, one.text(), one.to_string()), (other, "the peer is gone", "the peer is gone".to_owned()));
        assert!(std::ptr::eq(one.text(), other.text()));
        assert_ne!(one, Reason::new("the peer is here"));
    }
}
