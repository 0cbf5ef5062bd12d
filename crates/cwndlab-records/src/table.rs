//! The macro that defines a table in one place: its row, its columns and its documentation.

use thiserror::Error;

use crate::cell::Cell;
use crate::column::Batch;

/// A column as the documentation shows it.
#[derive(Clone, Copy, Debug)]
pub struct ColumnDoc {
    /// The column's name, which includes the unit of a quantity.
    pub name: &'static str,
    /// The type of its cells.
    pub kind: &'static str,
    /// What the column holds.
    pub about: &'static str,
}

/// A table as the documentation shows it.
#[derive(Clone, Copy, Debug)]
pub struct TableDoc {
    /// The table's name.
    pub name: &'static str,
    /// What a row describes.
    pub about: &'static str,
    /// Its columns.
    pub columns: &'static [ColumnDoc],
}

/// Columns under construction.
pub trait Table: Default {
    /// One row.
    type Row: Copy;
    /// The table's name and columns, for the documentation.
    const DOC: TableDoc;

    /// Appends a row.
    fn push(&mut self, row: Self::Row);
    /// The finished columns, without copying their vectors.
    fn finish(self) -> Batch;
    /// The rows of a batch, which may come from a file.
    ///
    /// # Errors
    /// If a column is missing or has another type.
    fn rows(batch: &Batch) -> Result<impl Iterator<Item = Self::Row> + '_, SchemaError>;
}

/// A column of a batch is missing, has another type than the table's, or holds an invalid value.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("table {table}: column {column:?} is {found}, it must be {kind}")]
pub struct SchemaError {
    pub(crate) table: &'static str,
    pub(crate) column: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) found: String,
}

impl SchemaError {
    /// The error for a column of the table with this documentation; `found` says what is there instead.
    pub fn new(table: &'static str, column: &ColumnDoc, found: String) -> SchemaError {
        SchemaError { table, column: column.name, kind: column.kind, found }
    }
}

/// Finds a column of a batch, and checks its type and values.
pub(crate) fn column<'a, C: Cell>(
    batch: &'a Batch,
    table: &'static str,
    name: &'static str,
) -> Result<C::View<'a>, SchemaError> {
    let wrong = |found| SchemaError { table, column: name, kind: C::TYPE, found };
    let column = batch.column(name).ok_or_else(|| wrong("missing".into()))?;
    C::view(&column.array).map_err(wrong)
}

/// Defines a table: `table! { /// what a row is  "name" Columns of Row { /// what it holds  column: cell type, … } }`
macro_rules! table {
    ($(#[doc = $about:literal])+ $name:literal $Table:ident of $Row:ident {
        $($(#[doc = $doc:literal])+ $column:ident: $cell:ty,)+
    }) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $Row {
            $($(#[doc = $doc])+ pub $column: $cell,)+
        }

        $(#[doc = $about])+
        ///
        /// Columns under construction.
        #[derive(Debug, Default)]
        pub struct $Table {
            $($column: <$cell as Cell>::Column,)+
            rows: usize,
        }

        impl $Table {
            /// The number of rows.
            pub fn len(&self) -> usize {
                self.rows
            }
            /// Whether there are no rows.
            pub fn is_empty(&self) -> bool {
                self.rows == 0
            }
            /// Approximate memory of the rows.
            pub fn held_bytes(&self) -> u64 {
                const ROW: usize = 0 $(+ <$cell as Cell>::BYTES)+;
                (self.rows * ROW) as u64
            }
        }

        impl Table for $Table {
            type Row = $Row;
            const DOC: TableDoc = TableDoc {
                name: $name,
                about: concat!($($about),+),
                columns: &[$(ColumnDoc {
                    name: stringify!($column),
                    kind: <$cell as Cell>::TYPE,
                    about: concat!($($doc),+),
                }),+],
            };
            #[inline]
            fn push(&mut self, row: $Row) {
                $(<$cell as Cell>::push(&mut self.$column, row.$column);)+
                self.rows += 1;
            }
            fn finish(self) -> Batch {
                Batch::new(vec![$(Column {
                    name: stringify!($column).into(),
                    is_nullable: <$cell as Cell>::NULLABLE,
                    array: <$cell as Cell>::finish(self.$column).into(),
                }),+])
            }
            fn rows(batch: &Batch) -> Result<impl Iterator<Item = $Row> + '_, SchemaError> {
                $(let $column = column::<$cell>(batch, $name, stringify!($column))?;)+
                Ok((0..batch.rows()).map(move |row| $Row { $($column: <$cell as Cell>::get($column, row),)+ }))
            }
        }
    };
}
pub(crate) use table;

/// Defines two tables: one with values at the end of the run, and one with the same values at each snapshot, whose rows
/// are created by `Row::at`. Columns under `end` are only in the first table.
///
/// `counters! { /// a row  "name" Columns of Row, /// a row  "name" Columns of Row { both { … } end { … } both { … } } }`
macro_rules! counters {
    ($(#[doc = $about:literal])+ $name:literal $Table:ident of $Row:ident,
     $(#[doc = $snap_about:literal])+ $snap_name:literal $Snap:ident of $SnapRow:ident {
        $(
            both { $($(#[doc = $doc:literal])+ $column:ident: $cell:ty,)+ }
            $(end { $($(#[doc = $end_doc:literal])+ $end_column:ident: $end_cell:ty,)+ })?
        )+
    }) => {
        table! {
            $(#[doc = $about])+
            $name $Table of $Row {
                $(
                    $($(#[doc = $doc])+ $column: $cell,)+
                    $($($(#[doc = $end_doc])+ $end_column: $end_cell,)+)?
                )+
            }
        }
        table! {
            $(#[doc = $snap_about])+
            $snap_name $Snap of $SnapRow {
                /// Time of the snapshot. Events at this instant are not included.
                time_ns: u64,
                $($($(#[doc = $doc])+ $column: $cell,)+)+
            }
        }
        impl $Row {
            /// This row as a row of the snapshot at `time_ns`.
            pub fn at(&self, time_ns: u64) -> $SnapRow {
                $SnapRow { time_ns, $($($column: self.$column,)+)+ }
            }
        }
    };
}
pub(crate) use counters;

/// Defines enums that are labels: `labels! { /// doc  pub enum Name { /// doc  Variant = "word", … } }`
macro_rules! labels {
    ($($(#[$meta:meta])+ pub enum $Name:ident { $($(#[$doc:meta])+ $Variant:ident = $word:literal,)+ })+) => {$(
        $(#[$meta])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum $Name { $($(#[$doc])+ $Variant,)+ }

        impl Label for $Name {
            const WORDS: &'static [&'static str] = &[$($word),+];
            #[inline]
            fn code(self) -> u8 {
                self as u8
            }
            fn from_code(code: u8) -> $Name {
                [$($Name::$Variant),+][usize::from(code)]
            }
        }
    )+};
}
pub(crate) use labels;
