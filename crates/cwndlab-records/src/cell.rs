//! The types of a table's cells. Each type defines how its column is stored and passed to Arrow.

use std::sync::Arc;

use arrow_array::builder::BooleanBufferBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt8Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, ListArray, StringArray, UInt16Array,
    UInt32Array, UInt64Array, UInt8Array,
};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field};
use cwndlab_engine::Reason;
use cwndlab_tcp::AccEcnOption;

/// The type of a column's cells. While a run is recorded, the column is a vector of cells, which Arrow then takes over
/// without copying.
pub trait Cell: Copy {
    /// A column under construction.
    type Column: Default + std::fmt::Debug;
    /// A finished column.
    type Array: Array + 'static;
    /// Whether the column may hold nulls.
    const NULLABLE: bool = false;
    /// Name of the cell's type in the documentation.
    const TYPE: &'static str;
    /// Approximate memory of a cell while recording.
    const BYTES: usize = size_of::<Self>();

    /// Appends a cell.
    fn push(column: &mut Self::Column, cell: Self);
    /// Turns the column into an Arrow array.
    fn finish(column: Self::Column) -> ArrayRef;
    /// Reads a cell back.
    fn get(array: &Self::Array, row: usize) -> Self;
    /// The column's Arrow type.
    fn data_type() -> DataType;
    /// Checks that a column that this crate did not write, such as one from a file, holds only values that a cell can
    /// have.
    ///
    /// # Errors
    ///
    /// If a value is invalid. The error describes the value.
    fn check(_array: &Self::Array) -> Result<(), String> {
        Ok(())
    }
}

macro_rules! primitive {
    ($($cell:ty, $array:ty, $arrow:ident, $text:literal;)+) => {$(
        impl Cell for $cell {
            type Column = Vec<$cell>;
            type Array = $array;
            const TYPE: &'static str = $text;
            #[inline]
            fn push(column: &mut Vec<$cell>, cell: $cell) {
                column.push(cell);
            }
            fn finish(column: Vec<$cell>) -> ArrayRef {
                Arc::new(<$array>::from(column))
            }
            #[inline]
            fn get(array: &$array, row: usize) -> $cell {
                array.value(row)
            }
            fn data_type() -> DataType {
                DataType::$arrow
            }
        }
        impl Cell for Option<$cell> {
            type Column = Vec<Option<$cell>>;
            type Array = $array;
            const NULLABLE: bool = true;
            const TYPE: &'static str = concat!($text, " or null");
            #[inline]
            fn push(column: &mut Vec<Option<$cell>>, cell: Option<$cell>) {
                column.push(cell);
            }
            fn finish(column: Vec<Option<$cell>>) -> ArrayRef {
                Arc::new(<$array>::from(column))
            }
            #[inline]
            fn get(array: &$array, row: usize) -> Option<$cell> {
                array.is_valid(row).then(|| array.value(row))
            }
            fn data_type() -> DataType {
                DataType::$arrow
            }
        }
    )+};
}

primitive! {
    u8, UInt8Array, UInt8, "uint8";
    u16, UInt16Array, UInt16, "uint16";
    u32, UInt32Array, UInt32, "uint32";
    u64, UInt64Array, UInt64, "uint64";
    i64, Int64Array, Int64, "int64";
    f64, Float64Array, Float64, "float64";
}

/// A column of booleans under construction, packed into bits.
#[derive(Debug)]
pub struct Bits(BooleanBufferBuilder);

impl Default for Bits {
    fn default() -> Bits {
        Bits(BooleanBufferBuilder::new(0))
    }
}

impl Cell for bool {
    type Column = Bits;
    type Array = BooleanArray;
    const TYPE: &'static str = "bool";
    #[inline]
    fn push(column: &mut Bits, cell: bool) {
        column.0.append(cell);
    }
    fn finish(mut column: Bits) -> ArrayRef {
        Arc::new(BooleanArray::new(column.0.finish(), None))
    }
    #[inline]
    fn get(array: &BooleanArray, row: usize) -> bool {
        array.value(row)
    }
    fn data_type() -> DataType {
        DataType::Boolean
    }
}

/// One of a fixed set of words. The column is a dictionary, so a cell takes a byte.
pub trait Label: Copy + 'static {
    /// The words, in the order of the codes.
    const WORDS: &'static [&'static str];
    /// Position in [`Label::WORDS`].
    fn code(self) -> u8;
    /// The label with this code, which must be below `WORDS.len()`.
    fn from_code(code: u8) -> Self;
    /// The label with this word; `None` if no label has it.
    fn named(word: &str) -> Option<Self> {
        let code = Self::WORDS.iter().position(|known| *known == word)?;
        Some(Self::from_code(code as u8))
    }
}

/// The cell of a labelled column. (A newtype, because a blanket `impl Cell for L: Label` would overlap with the other
/// implementations.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneOf<L>(pub L);

impl<L: Label> OneOf<L> {
    fn dictionary() -> ArrayRef {
        Arc::new(StringArray::from(L::WORDS.to_vec()))
    }
}

impl<L: Label> Cell for OneOf<L> {
    type Column = Vec<u8>;
    type Array = DictionaryArray<UInt8Type>;
    const TYPE: &'static str = "dictionary of text";
    #[inline]
    fn push(column: &mut Vec<u8>, cell: OneOf<L>) {
        column.push(cell.0.code());
    }
    fn finish(column: Vec<u8>) -> ArrayRef {
        Arc::new(DictionaryArray::new(UInt8Array::from(column), Self::dictionary()))
    }
    #[inline]
    fn get(array: &Self::Array, row: usize) -> OneOf<L> {
        OneOf(label_at(array, row))
    }
    fn data_type() -> DataType {
        DataType::Dictionary(Box::new(DataType::UInt8), Box::new(DataType::Utf8))
    }
    fn check(array: &Self::Array) -> Result<(), String> {
        check_words::<L>(array)
    }
}

impl<L: Label> Cell for Option<OneOf<L>> {
    type Column = Vec<Option<u8>>;
    type Array = DictionaryArray<UInt8Type>;
    const NULLABLE: bool = true;
    const TYPE: &'static str = "dictionary of text, or null";
    #[inline]
    fn push(column: &mut Vec<Option<u8>>, cell: Option<OneOf<L>>) {
        column.push(cell.map(|cell| cell.0.code()));
    }
    fn finish(column: Vec<Option<u8>>) -> ArrayRef {
        Arc::new(DictionaryArray::new(UInt8Array::from(column), OneOf::<L>::dictionary()))
    }
    #[inline]
    fn get(array: &Self::Array, row: usize) -> Option<OneOf<L>> {
        array.is_valid(row).then(|| OneOf(label_at(array, row)))
    }
    fn data_type() -> DataType {
        OneOf::<L>::data_type()
    }
    fn check(array: &Self::Array) -> Result<(), String> {
        check_words::<L>(array)
    }
}

/// Reasons under construction: the different ones, and the code of each cell.
#[derive(Debug, Default)]
pub struct Reasons {
    words: Vec<Reason>,
    codes: Vec<u8>,
}

impl Cell for Reason {
    type Column = Reasons;
    type Array = DictionaryArray<UInt8Type>;
    const TYPE: &'static str = "dictionary of text";
    const BYTES: usize = 1;
    fn push(column: &mut Reasons, cell: Reason) {
        let known = column.words.iter().position(|word| *word == cell);
        // A code is a byte: a reason after 255 others is recorded as the last of them.
        let code = known.unwrap_or(column.words.len()).min(usize::from(u8::MAX) - 1);
        if code == column.words.len() {
            column.words.push(cell);
        }
        column.codes.push(code as u8);
    }
    fn finish(column: Reasons) -> ArrayRef {
        let words = StringArray::from_iter_values(column.words.iter().map(|word| word.text()));
        Arc::new(DictionaryArray::new(UInt8Array::from(column.codes), Arc::new(words)))
    }
    fn get(array: &Self::Array, row: usize) -> Reason {
        Reason::new(array.values().as_string::<i32>().value(usize::from(array.keys().value(row))))
    }
    fn data_type() -> DataType {
        DataType::Dictionary(Box::new(DataType::UInt8), Box::new(DataType::Utf8))
    }
}

fn check_words<L: Label>(array: &DictionaryArray<UInt8Type>) -> Result<(), String> {
    let mut words = array.values().as_string::<i32>().iter().flatten();
    words.find(|word| !L::WORDS.contains(word)).map_or(Ok(()), |word| Err(format!("the word {word:?}")))
}

/// The label of a row, found by its word and not by its code, because a table read from a file may have its words in
/// another order.
#[inline]
fn label_at<L: Label>(array: &DictionaryArray<UInt8Type>, row: usize) -> L {
    let key = array.keys().value(row);
    let word = array.values().as_string::<i32>().value(usize::from(key));
    if L::WORDS.get(usize::from(key)) == Some(&word) {
        return L::from_code(key);
    }
    L::named(word).unwrap_or_else(|| L::from_code(0))
}

/// Up to four SACK blocks `[start, end)` as payload offsets, most recent first (RFC 2018, section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sack {
    /// Number of blocks.
    pub len: u8,
    /// The blocks.
    pub blocks: [(u64, u64); 4],
}

impl Sack {
    /// The blocks in use.
    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.blocks[..usize::from(self.len)]
    }
}

/// The counters of an AccECN option (RFC 9768) of kind 174, in the order in which the engine and Linux send them:
/// payload bytes that arrived with ECT(1), CE and ECT(0), modulo 2^24.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccEcnCounts {
    /// Number of counters that the option has, starting with the first of `counters`; 0 without an option.
    pub len: u8,
    /// The counters.
    pub counters: [u32; 3],
}

impl AccEcnCounts {
    /// The counters in the option.
    pub fn as_slice(&self) -> &[u32] {
        &self.counters[..usize::from(self.len)]
    }
}

impl From<AccEcnOption> for AccEcnCounts {
    fn from(option: AccEcnOption) -> AccEcnCounts {
        AccEcnCounts { len: option.fields, counters: option.counters }
    }
}

/// A column of lists: the end of each list, and the values of all of them.
#[derive(Debug)]
pub struct Lists<V> {
    ends: Vec<i32>,
    values: Vec<V>,
}

impl<V> Default for Lists<V> {
    fn default() -> Lists<V> {
        Lists { ends: vec![0], values: Vec::new() }
    }
}

impl<V> Lists<V> {
    fn end_row(&mut self) {
        self.ends.push(self.values.len() as i32); // fits: 2^31 values would take 16 GB, more than the budget
    }

    /// Adds values to the list of the last row.
    pub(crate) fn extend_last(&mut self, values: impl Iterator<Item = V>) {
        self.values.extend(values);
        self.ends.pop();
        self.end_row();
    }

    fn into_array(self, item: Arc<Field>, values: impl FnOnce(Vec<V>) -> ArrayRef) -> ArrayRef {
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.ends));
        Arc::new(ListArray::new(item, offsets, values(self.values), None))
    }
}

fn item(of: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", of, false))
}

impl Cell for Sack {
    type Column = Lists<u64>;
    type Array = ListArray;
    const TYPE: &'static str = "list of uint64";
    /// A list offset of 4 bytes, and one block of 16 bytes.
    const BYTES: usize = 20;
    #[inline]
    fn push(column: &mut Lists<u64>, cell: Sack) {
        for &(start, end) in cell.as_slice() {
            column.values.extend([start, end]);
        }
        column.end_row();
    }
    fn finish(column: Lists<u64>) -> ArrayRef {
        column.into_array(item(DataType::UInt64), |values| Arc::new(UInt64Array::from(values)))
    }
    #[inline]
    fn get(array: &ListArray, row: usize) -> Sack {
        let values = array.value(row);
        let values = values.as_primitive::<arrow_array::types::UInt64Type>().values();
        let mut sack = Sack::default();
        for pair in values.chunks_exact(2).take(4) {
            sack.blocks[usize::from(sack.len)] = (pair[0], pair[1]);
            sack.len += 1;
        }
        sack
    }
    fn data_type() -> DataType {
        DataType::List(item(DataType::UInt64))
    }
}

impl Cell for AccEcnCounts {
    type Column = Lists<u32>;
    type Array = ListArray;
    const TYPE: &'static str = "list of uint32";
    /// Only the list offset, because few connections use the option.
    const BYTES: usize = 4;
    #[inline]
    fn push(column: &mut Lists<u32>, cell: AccEcnCounts) {
        column.values.extend(cell.as_slice());
        column.end_row();
    }
    fn finish(column: Lists<u32>) -> ArrayRef {
        column.into_array(item(DataType::UInt32), |values| Arc::new(UInt32Array::from(values)))
    }
    #[inline]
    fn get(array: &ListArray, row: usize) -> AccEcnCounts {
        let values = array.value(row);
        let values = values.as_primitive::<arrow_array::types::UInt32Type>().values();
        let mut cell = AccEcnCounts::default();
        for (counter, &value) in cell.counters.iter_mut().zip(values.iter()) {
            *counter = value;
            cell.len += 1;
        }
        cell
    }
    fn data_type() -> DataType {
        DataType::List(item(DataType::UInt32))
    }
}
