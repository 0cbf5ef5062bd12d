//! One digest of all tables of a run, the same on every platform.

use sha2::{Digest as _, Sha256};

use crate::column::{word_buffers, Array, Batch, Values};

/// SHA-256, in hexadecimal, over the named tables in order: names, columns, types and every value.
pub fn digest<'a>(tables: impl Iterator<Item = (&'static str, &'a Batch)>) -> String {
    let mut hash = Sha256::new();
    for (name, batch) in tables {
        add(&mut hash, name.as_bytes());
        for column in batch.columns() {
            add(&mut hash, column.name.as_bytes());
            add(&mut hash, column.array.values.kind().as_bytes());
            add_array(&mut hash, &column.array);
        }
    }
    format!("{:x}", hash.finalize())
}

/// Hashes a byte string, with its length first, so that two different sequences of strings never have the same hash
/// input.
fn add(hash: &mut Sha256, bytes: &[u8]) {
    add_length(hash, bytes.len());
    hash.update(bytes);
}

fn add_length(hash: &mut Sha256, length: usize) {
    hash.update((length as u64).to_le_bytes());
}

/// Hashes a column: length, validity bits, values, and the words or the values of its lists.
fn add_array(hash: &mut Sha256, array: &Array) {
    add_length(hash, array.values.len());
    add(hash, array.valid.as_ref().map_or(&[], |valid| valid.bytes()));
    add_values(hash, &array.values);
    match &array.values {
        Values::Words { words, .. } => add_words(hash, words),
        Values::Lists { values, .. } => add_array(hash, values),
        _ => {}
    }
}

fn add_values(hash: &mut Sha256, values: &Values) {
    add_length(hash, values.place().1);
    values.each_part(|part| hash.update(part));
}

/// Hashes words as Arrow stores them: the ends of the words, then all of them in one.
fn add_words(hash: &mut Sha256, words: &[String]) {
    let [ends, text] = word_buffers(words);
    add_length(hash, words.len());
    add(hash, &[]);
    add(hash, &ends);
    add(hash, &text);
}
