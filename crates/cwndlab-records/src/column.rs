//! Columns in the memory layout of Arrow, of the few types that record tables have. Arrow's own crates would take a
//! fifth of the time that a build takes (docs/decisions/set-up.md).

use std::borrow::Cow;
use std::sync::Arc;

/// Bits, packed: the lowest bit of a byte comes first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bits {
    bytes: Vec<u8>,
    len: usize,
}

impl Bits {
    /// Appends a bit.
    #[inline]
    pub fn push(&mut self, bit: bool) {
        if self.len % 8 == 0 {
            self.bytes.push(0);
        }
        self.bytes[self.len / 8] |= u8::from(bit) << (self.len % 8);
        self.len += 1;
    }

    /// The bit at `index`; false beyond the end.
    #[inline]
    pub fn get(&self, index: usize) -> bool {
        self.bytes.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 == 1)
    }

    /// The bits, packed.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl FromIterator<bool> for Bits {
    fn from_iter<I: IntoIterator<Item = bool>>(bits: I) -> Bits {
        let mut made = Bits::default();
        bits.into_iter().for_each(|bit| made.push(bit));
        made
    }
}

/// The values of a column. Those of nulls are 0.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Unsigned integers of 8 bits.
    UInt8(Vec<u8>),
    /// Unsigned integers of 16 bits.
    UInt16(Vec<u16>),
    /// Unsigned integers of 32 bits.
    UInt32(Vec<u32>),
    /// Unsigned integers of 64 bits.
    UInt64(Vec<u64>),
    /// Integers of 64 bits.
    Int64(Vec<i64>),
    /// Floating-point numbers of 64 bits.
    Float64(Vec<f64>),
    /// Booleans.
    Boolean(Bits),
    /// Words: each code is an index into `words`.
    Words {
        /// The code of each row.
        codes: Vec<u8>,
        /// The different words.
        words: Vec<String>,
    },
    /// Lists: list `k` has the values from `ends[k]` to `ends[k + 1]`.
    Lists {
        /// 0, then the end of each list.
        ends: Vec<i32>,
        /// The values of all lists.
        values: Arc<Array>,
    },
}

impl Values {
    /// Arrow's name of the type.
    pub fn kind(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Values::UInt8(_) => "UInt8",
            Values::UInt16(_) => "UInt16",
            Values::UInt32(_) => "UInt32",
            Values::UInt64(_) => "UInt64",
            Values::Int64(_) => "Int64",
            Values::Float64(_) => "Float64",
            Values::Boolean(_) => "Boolean",
            Values::Words { .. } => "Dictionary(UInt8, Utf8)",
            Values::Lists { values, .. } => return Cow::Owned(format!("List(non-null {})", values.values.kind())),
        })
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Values::UInt8(values) | Values::Words { codes: values, .. } => values.len(),
            Values::UInt16(values) => values.len(),
            Values::UInt32(values) => values.len(),
            Values::UInt64(values) => values.len(),
            Values::Int64(values) => values.len(),
            Values::Float64(values) => values.len(),
            Values::Boolean(bits) => bits.len,
            Values::Lists { ends, .. } => ends.len() - 1,
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The address and the size in bytes of the numbers, packed bits or codes, or of the ends of lists. They stay there
    /// for as long as this lives.
    pub fn place(&self) -> (*const u8, usize) {
        fn of<T>(values: &[T]) -> (*const u8, usize) {
            (values.as_ptr().cast(), size_of_val(values))
        }
        match self {
            Values::UInt8(values) | Values::Words { codes: values, .. } => of(values),
            Values::UInt16(values) => of(values),
            Values::UInt32(values) => of(values),
            Values::UInt64(values) => of(values),
            Values::Int64(values) => of(values),
            Values::Float64(values) => of(values),
            Values::Boolean(bits) => of(bits.bytes()),
            Values::Lists { ends, .. } => of(ends),
        }
    }

    /// Hands what is at [`Values::place`] to `take` in little-endian order, in parts.
    pub(crate) fn each_part(&self, mut take: impl FnMut(&[u8])) {
        fn parts<T: Copy, const N: usize>(values: &[T], bytes: impl Fn(T) -> [u8; N], mut take: impl FnMut(&[u8])) {
            for part in values.chunks(1024) {
                take(&part.iter().flat_map(|&value| bytes(value)).collect::<Vec<u8>>());
            }
        }
        match self {
            Values::UInt8(values) | Values::Words { codes: values, .. } => take(values),
            Values::UInt16(values) => parts(values, u16::to_le_bytes, take),
            Values::UInt32(values) => parts(values, u32::to_le_bytes, take),
            Values::UInt64(values) => parts(values, u64::to_le_bytes, take),
            Values::Int64(values) => parts(values, i64::to_le_bytes, take),
            Values::Float64(values) => parts(values, f64::to_le_bytes, take),
            Values::Boolean(bits) => take(bits.bytes()),
            Values::Lists { ends, .. } => parts(ends, i32::to_le_bytes, take),
        }
    }
}

/// The values of a column, and which of them are not null.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The values.
    pub values: Values,
    /// For each value whether it is not null; `None` if none is null.
    pub valid: Option<Bits>,
}

impl Array {
    /// Values of which none is null.
    pub fn full(values: Values) -> Array {
        Array { values, valid: None }
    }

    /// Values that may be null; a null gets the value 0.
    pub fn of_options<T: Copy + Default>(cells: &[Option<T>], values: impl FnOnce(Vec<T>) -> Values) -> Array {
        let has_nulls = cells.iter().any(Option::is_none);
        let valid = has_nulls.then(|| cells.iter().map(Option::is_some).collect());
        Array { values: values(cells.iter().map(|cell| cell.unwrap_or_default()).collect()), valid }
    }

    /// Whether the value of a row is not null.
    #[inline]
    pub fn is_valid(&self, row: usize) -> bool {
        self.valid.as_ref().is_none_or(|valid| valid.get(row))
    }
}

/// A column with its name.
#[derive(Clone, Debug)]
pub struct Column {
    /// The name, which includes the unit of a quantity.
    pub name: Cow<'static, str>,
    /// Whether the column may hold nulls.
    pub is_nullable: bool,
    /// The values, shared and not copied.
    pub array: Arc<Array>,
}

/// Columns of equal length. A copy shares them.
#[derive(Clone, Debug)]
pub struct Batch {
    rows: usize,
    columns: Arc<[Column]>,
}

impl Batch {
    /// A batch of these columns.
    ///
    /// # Panics
    ///
    /// If their lengths differ.
    pub fn new(columns: Vec<Column>) -> Batch {
        let rows = columns.first().map_or(0, |column| column.array.values.len());
        assert!(columns.iter().all(|column| column.array.values.len() == rows), "columns of a batch are equally long");
        Batch { rows, columns: columns.into() }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The columns, in order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// A column by its name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// Words as Arrow stores them: 0 and the end of each word, little-endian in 32 bits, then the text of all words.
///
/// # Panics
///
/// If the words have 2 GB or more.
pub fn word_buffers(words: &[String]) -> [Vec<u8>; 2] {
    let ends = words.iter().scan(0, |end, word| {
        *end += i32::try_from(word.len()).expect("a word has less than 2 GB");
        Some(*end)
    });
    [std::iter::once(0).chain(ends).flat_map(i32::to_le_bytes).collect(), words.concat().into_bytes()]
}
