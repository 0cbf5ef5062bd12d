//! Addresses of the columns of the record tables in the module's memory, for a web page to read as typed arrays.

use std::collections::BTreeMap;

use cwndlab_records::column::{Array, Batch, Values};
use cwndlab_records::Records;
use serde::Serialize;

/// The layout of all tables of a run.
#[derive(Debug, Serialize)]
pub struct Tables {
    tables: BTreeMap<&'static str, Rows>,
    /// [`Records::digest`], if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

/// The layout of one table.
#[derive(Debug, Serialize)]
struct Rows {
    rows: usize,
    columns: BTreeMap<String, Column>,
}

/// The layout of one column.
#[derive(Debug, Serialize)]
struct Column {
    /// The Arrow type of the values at `at`: `UInt64`, `Float64`, …, `Boolean` (packed, lowest bit first).
    kind: String,
    /// Address of the values.
    at: usize,
    /// Address of the validity bits (lowest bit first, 0 where the value is null); absent if no value is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    valid: Option<usize>,
    /// The distinct values of a text column. Each value at `at` is then an index into this list.
    #[serde(skip_serializing_if = "Option::is_none")]
    words: Option<Vec<String>>,
}

impl Tables {
    /// The layout of the tables of `records`. The caller must keep `records` alive as long as anything reads from these
    /// addresses.
    pub fn of(records: &Records, digest: Option<String>) -> Tables {
        let rows = |name| records.table(name).map(|batch| (name, Rows::of(batch)));
        Tables { tables: Records::names().filter_map(rows).collect(), digest }
    }
}

impl Rows {
    fn of(batch: &Batch) -> Rows {
        // A column of lists (such as SACK blocks) is left out: its lists differ in length, so the web page could not
        // compute where a row's list begins.
        let columns =
            batch.columns().iter().filter_map(|column| Some((column.name.to_string(), Column::of(&column.array)?)));
        Rows { rows: batch.rows(), columns: columns.collect() }
    }
}

impl Column {
    fn of(array: &Array) -> Option<Column> {
        let (kind, words) = match &array.values {
            Values::Lists { .. } => return None,
            Values::Words { words, .. } => ("UInt8".into(), Some(words.clone())),
            values => (values.kind().into_owned(), None),
        };
        let valid = array.valid.as_ref().map(|valid| valid.bytes().as_ptr().addr());
        Some(Column { kind, at: array.values.place().0.addr(), valid, words })
    }
}
