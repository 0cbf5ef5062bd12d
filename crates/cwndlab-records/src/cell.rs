//! The types of a table's cells. Each type defines how its column is stored and passed to Arrow.

use cwndlab_engine::Reason;
use cwndlab_tcp::AccEcnOption;

use crate::column::{Array, Bits, Values};

/// The type of a column's cells. While a run is recorded, the column is a vector of cells, which the finished column
/// takes over without copying.
pub trait Cell: Copy {
    /// A column under construction.
    type Column: Default + std::fmt::Debug;
    /// A finished column of this type, for reading.
    type View<'a>: Copy;
    /// Whether the column may hold nulls.
    const NULLABLE: bool = false;
    /// Name of the cell's type in the documentation.
    const TYPE: &'static str;
    /// Approximate memory of a cell while recording.
    const BYTES: usize = size_of::<Self>();

    /// Appends a cell.
    fn push(column: &mut Self::Column, cell: Self);
    /// The finished column.
    fn finish(column: Self::Column) -> Array;
    /// A finished column for reading, which this crate need not have written: it may come from a file.
    ///
    /// # Errors
    ///
    /// If the column has another type, or a value that a cell cannot have. The error describes it.
    fn view(array: &Array) -> Result<Self::View<'_>, String>;
    /// Reads a cell back.
    fn get(view: Self::View<'_>, row: usize) -> Self;
}

/// The error for a column of another type.
fn other(array: &Array) -> String {
    array.values.kind().into_owned()
}

macro_rules! numbers {
    ($($cell:ty, $kind:ident, $text:literal;)+) => {$(
        impl Cell for $cell {
            type Column = Vec<$cell>;
            type View<'a> = &'a [$cell];
            const TYPE: &'static str = $text;
            #[inline]
            fn push(column: &mut Vec<$cell>, cell: $cell) {
                column.push(cell);
            }
            fn finish(column: Vec<$cell>) -> Array {
                Array::full(Values::$kind(column))
            }
            fn view(array: &Array) -> Result<&[$cell], String> {
                match &array.values {
                    Values::$kind(values) => Ok(values),
                    _ => Err(other(array)),
                }
            }
            #[inline]
            fn get(view: &[$cell], row: usize) -> $cell {
                view[row]
            }
        }
        impl Cell for Option<$cell> {
            type Column = Vec<Option<$cell>>;
            type View<'a> = (&'a [$cell], &'a Array);
            const NULLABLE: bool = true;
            const TYPE: &'static str = concat!($text, " or null");
            #[inline]
            fn push(column: &mut Vec<Option<$cell>>, cell: Option<$cell>) {
                column.push(cell);
            }
            fn finish(column: Vec<Option<$cell>>) -> Array {
                Array::of_options(&column, Values::$kind)
            }
            fn view(array: &Array) -> Result<Self::View<'_>, String> {
                Ok((<$cell as Cell>::view(array)?, array))
            }
            #[inline]
            fn get((values, array): Self::View<'_>, row: usize) -> Option<$cell> {
                array.is_valid(row).then(|| values[row])
            }
        }
    )+};
}

numbers! {
    u8, UInt8, "uint8";
    u16, UInt16, "uint16";
    u32, UInt32, "uint32";
    u64, UInt64, "uint64";
    i64, Int64, "int64";
    f64, Float64, "float64";
}

impl Cell for bool {
    type Column = Bits;
    type View<'a> = &'a Bits;
    const TYPE: &'static str = "bool";
    #[inline]
    fn push(column: &mut Bits, cell: bool) {
        column.push(cell);
    }
    fn finish(column: Bits) -> Array {
        Array::full(Values::Boolean(column))
    }
    fn view(array: &Array) -> Result<&Bits, String> {
        match &array.values {
            Values::Boolean(bits) => Ok(bits),
            _ => Err(other(array)),
        }
    }
    #[inline]
    fn get(view: &Bits, row: usize) -> bool {
        view.get(row)
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

/// Codes and their words.
#[derive(Clone, Copy)]
pub struct Words<'a> {
    codes: &'a [u8],
    names: &'a [String],
    array: &'a Array,
}

impl<'a> Words<'a> {
    fn new(array: &'a Array) -> Result<Words<'a>, String> {
        let Values::Words { codes, words } = &array.values else { return Err(other(array)) };
        let is_strange = |(row, code): (usize, &u8)| array.is_valid(row) && words.get(usize::from(*code)).is_none();
        if codes.iter().enumerate().any(is_strange) {
            return Err("a code without a word".into());
        }
        Ok(Words { codes, names: words, array })
    }

    fn of<L: Label>(array: &'a Array) -> Result<Words<'a>, String> {
        let found = Words::new(array)?;
        match found.names.iter().find(|word| !L::WORDS.contains(&word.as_str())) {
            Some(word) => Err(format!("the word {word:?}")),
            None => Ok(found),
        }
    }

    #[inline]
    fn word(&self, row: usize) -> &'a str {
        &self.names[usize::from(self.codes[row])]
    }

    /// The label of a row, found by its word and not by its code, because a table read from a file may have its words
    /// in another order.
    #[inline]
    fn label<L: Label>(&self, row: usize) -> L {
        let (code, word) = (self.codes[row], self.word(row));
        if L::WORDS.get(usize::from(code)) == Some(&word) {
            return L::from_code(code);
        }
        L::named(word).unwrap_or_else(|| L::from_code(0))
    }
}

fn all_words<L: Label>() -> Vec<String> {
    L::WORDS.iter().map(|&word| word.to_owned()).collect()
}

impl<L: Label> Cell for OneOf<L> {
    type Column = Vec<u8>;
    type View<'a> = Words<'a>;
    const TYPE: &'static str = "dictionary of text";
    #[inline]
    fn push(column: &mut Vec<u8>, cell: OneOf<L>) {
        column.push(cell.0.code());
    }
    fn finish(column: Vec<u8>) -> Array {
        Array::full(Values::Words { codes: column, words: all_words::<L>() })
    }
    fn view(array: &Array) -> Result<Words<'_>, String> {
        Words::of::<L>(array)
    }
    #[inline]
    fn get(view: Words<'_>, row: usize) -> OneOf<L> {
        OneOf(view.label(row))
    }
}

impl<L: Label> Cell for Option<OneOf<L>> {
    type Column = Vec<Option<u8>>;
    type View<'a> = Words<'a>;
    const NULLABLE: bool = true;
    const TYPE: &'static str = "dictionary of text, or null";
    #[inline]
    fn push(column: &mut Vec<Option<u8>>, cell: Option<OneOf<L>>) {
        column.push(cell.map(|cell| cell.0.code()));
    }
    fn finish(column: Vec<Option<u8>>) -> Array {
        Array::of_options(&column, |codes| Values::Words { codes, words: all_words::<L>() })
    }
    fn view(array: &Array) -> Result<Words<'_>, String> {
        Words::of::<L>(array)
    }
    #[inline]
    fn get(view: Words<'_>, row: usize) -> Option<OneOf<L>> {
        view.array.is_valid(row).then(|| OneOf(view.label(row)))
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
    type View<'a> = Words<'a>;
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
    fn finish(column: Reasons) -> Array {
        let words = column.words.iter().map(|word| word.text().to_owned()).collect();
        Array::full(Values::Words { codes: column.codes, words })
    }
    fn view(array: &Array) -> Result<Words<'_>, String> {
        Words::new(array)
    }
    fn get(view: Words<'_>, row: usize) -> Reason {
        Reason::new(view.word(row))
    }
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

    fn finish(self, values: impl FnOnce(Vec<V>) -> Values) -> Array {
        Array::full(Values::Lists { ends: self.ends, values: Array::full(values(self.values)).into() })
    }
}

/// A finished column of lists.
#[derive(Clone, Copy)]
pub struct ListView<'a, V> {
    ends: &'a [i32],
    values: &'a [V],
}

impl<'a, V: Cell<View<'a> = &'a [V]>> ListView<'a, V> {
    fn new(array: &'a Array) -> Result<ListView<'a, V>, String> {
        match &array.values {
            Values::Lists { ends, values } => Ok(ListView { ends, values: V::view(values)? }),
            _ => Err(other(array)),
        }
    }

    /// The list of a row; empty if its ends are not those of a list.
    #[inline]
    fn list(&self, row: usize) -> &'a [V] {
        let end = |row: usize| usize::try_from(self.ends[row]).unwrap_or(usize::MAX);
        self.values.get(end(row)..end(row + 1)).unwrap_or_default()
    }
}

impl Cell for Sack {
    type Column = Lists<u64>;
    type View<'a> = ListView<'a, u64>;
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
    fn finish(column: Lists<u64>) -> Array {
        column.finish(Values::UInt64)
    }
    fn view(array: &Array) -> Result<Self::View<'_>, String> {
        ListView::new(array)
    }
    #[inline]
    fn get(view: Self::View<'_>, row: usize) -> Sack {
        let mut sack = Sack::default();
        for pair in view.list(row).chunks_exact(2).take(4) {
            sack.blocks[usize::from(sack.len)] = (pair[0], pair[1]);
            sack.len += 1;
        }
        sack
    }
}

impl Cell for AccEcnCounts {
    type Column = Lists<u32>;
    type View<'a> = ListView<'a, u32>;
    const TYPE: &'static str = "list of uint32";
    /// Only the list offset, because few connections use the option.
    const BYTES: usize = 4;
    #[inline]
    fn push(column: &mut Lists<u32>, cell: AccEcnCounts) {
        column.values.extend(cell.as_slice());
        column.end_row();
    }
    fn finish(column: Lists<u32>) -> Array {
        column.finish(Values::UInt32)
    }
    fn view(array: &Array) -> Result<Self::View<'_>, String> {
        ListView::new(array)
    }
    #[inline]
    fn get(view: Self::View<'_>, row: usize) -> AccEcnCounts {
        let mut cell = AccEcnCounts::default();
        for (counter, &value) in cell.counters.iter_mut().zip(view.list(row)) {
            *counter = value;
            cell.len += 1;
        }
        cell
    }
}
