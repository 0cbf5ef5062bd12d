//! One digest of all tables of a run, the same on every platform.

use arrow_array::{Array as _, RecordBatch};
use arrow_data::ArrayData;
use sha2::{Digest as _, Sha256};

/// SHA-256, in hexadecimal, over the named tables in order: names, columns, types and every value.
pub fn digest<'a>(tables: impl Iterator<Item = (&'static str, &'a RecordBatch)>) -> String {
    let mut hash = Sha256::new();
    for (name, batch) in tables {
        add(&mut hash, name.as_bytes());
        for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            add(&mut hash, field.name().as_bytes());
            add(&mut hash, field.data_type().to_string().as_bytes());
            add_array(&mut hash, &column.to_data());
        }
    }
    format!("{:x}", hash.finalize())
}

/// Hashes a byte string, with its length first, so that two different sequences of strings never have the same hash
/// input.
fn add(hash: &mut Sha256, bytes: &[u8]) {
    hash.update((bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}

/// Hashes a column: length, validity bits, buffers and children. A recorded column is never a slice of another, so its
/// buffers contain exactly its values.
fn add_array(hash: &mut Sha256, array: &ArrayData) {
    debug_assert_eq!(array.offset(), 0, "recorded columns are whole");
    hash.update((array.len() as u64).to_le_bytes());
    add(hash, array.nulls().map_or(&[], |nulls| nulls.validity()));
    for buffer in array.buffers() {
        add(hash, buffer.as_slice());
    }
    for child in array.child_data() {
        add_array(hash, child);
    }
}
