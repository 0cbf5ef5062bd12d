//! Addresses of the columns of the record tables in the module's memory, for a web page to read as typed arrays.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray as _;
use arrow_array::types::UInt8Type;
use arrow_array::{Array, RecordBatch};
use arrow_data::ArrayData;
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
    fn of(batch: &RecordBatch) -> Rows {
        let fields = batch.schema_ref().fields().iter().zip(batch.columns());
        // A column of lists (such as SACK blocks) is left out: its lists differ in length, so the web page could not
        // compute where a row's list begins.
        let columns = fields.filter_map(|(field, array)| Some((field.name().clone(), Column::of(array.as_ref())?)));
        Rows { rows: batch.num_rows(), columns: columns.collect() }
    }
}

impl Column {
    fn of(array: &dyn Array) -> Option<Column> {
        let (values, words) = match array.as_dictionary_opt::<UInt8Type>() {
            Some(coded) => {
                let words = coded.values().as_string_opt::<i32>()?;
                (coded.keys().to_data(), Some(words.iter().flatten().map(str::to_owned).collect()))
            }
            None => (array.to_data(), None),
        };
        if !values.child_data().is_empty() {
            return None;
        }
        let valid = values.nulls().map(|nulls| nulls.validity().as_ptr().addr());
        Some(Column { kind: values.data_type().to_string(), at: address(&values)?, valid, words })
    }
}

fn address(values: &ArrayData) -> Option<usize> {
    Some(values.buffers().first()?.as_ptr().addr())
}
