//! Arguments of system calls.

use crate::error::{unsupported, Result};
use crate::number::integer;
use crate::script::Call;

/// Flags of a call that reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Flags {
    pub more: bool,
    pub end_of_record: bool,
    pub peek: bool,
    pub dont_wait: bool,
}

/// Parses the flags of `call`, such as `MSG_A|MSG_B`. Each must be among `known`. 0 or an empty text means no flags.
pub(crate) fn flags(line: usize, call: &Call, words: &str, known: &[&str]) -> Result<Flags> {
    let mut flags = Flags::default();
    for word in words.split('|').map(str::trim).filter(|word| !matches!(*word, "" | "0")) {
        match word {
            _ if !known.contains(&word) => {
                let known = known.join(", ");
                return unsupported(line, format!("{}(…): flag {word} is not supported, only {known}", call.name));
            }
            "MSG_MORE" => flags.more = true,
            "MSG_EOR" => flags.end_of_record = true,
            "MSG_PEEK" => flags.peek = true,
            "MSG_DONTWAIT" => flags.dont_wait = true,
            // `MSG_NOSIGNAL` has no effect, because a script receives no signals here.
            _ => {}
        }
    }
    Ok(flags)
}

/// The total size of all buffers `{address, bytes}` in a vector or a message; `None` if the text has no list of buffers
/// or the list is malformed.
pub(crate) fn iov_bytes(text: &str) -> Option<i64> {
    let vector = text.split_once("msg_iov").map_or(text, |(_, rest)| rest);
    let vector = &vector[vector.find('[')?..];
    let vector = &vector[..vector.find(']')?];
    let mut total = 0_i64;
    for buffer in vector.split('{').skip(1) {
        let (_, bytes) = buffer.split('}').next()?.rsplit_once(',')?;
        total = total.checked_add(integer(bytes.trim())?)?;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_of_vectors_and_messages_are_added_up() {
        for (text, bytes) in [
            ("[{..., 10}, {..., 20}]", Some(30)),
            ("{msg_name(...)=..., msg_iov(2)=[{..., 100},\n {...,0x5}], msg_flags=0}", Some(105)),
            ("[]", Some(0)),
            ("...", None),
            ("[{..., many}]", None),
        ] {
            assert_eq!(iov_bytes(text), bytes, "{text}");
        }
    }
}
