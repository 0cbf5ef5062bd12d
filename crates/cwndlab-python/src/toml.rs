//! Places of the keys in a TOML text, for messages about a study.

use pyo3::prelude::*;
use toml_edit::{Document, Item, TableLike, Value};

/// A step of a path: a key, or the index of a list element.
#[derive(Clone, IntoPyObject)]
pub enum Step {
    Key(String),
    Index(usize),
}

/// The place of every key and list element, in the order of the text: its path, line and column. Lines and columns (in
/// characters) count from 1.
///
/// The list is empty if the text is not TOML; the parser that reads the values then reports the error.
#[pyfunction]
pub fn toml_places(text: &str) -> Vec<(Vec<Step>, usize, usize)> {
    let Ok(document) = Document::parse(text) else { return Vec::new() };
    let mut found = Vec::new();
    table(document.as_table(), &[], &mut found);
    found.sort_by_key(|(_, offset)| *offset);
    let (mut line, mut start, mut read) = (1, 0, 0);
    let place = |(path, offset): (Vec<Step>, usize)| {
        for (at, _) in text[read..offset].match_indices('\n') {
            line += 1;
            start = read + at + 1;
        }
        read = offset;
        (path, line, text[start..offset].chars().count() + 1)
    };
    found.into_iter().map(place).collect()
}

type Found = Vec<(Vec<Step>, usize)>;

fn table(here: &dyn TableLike, path: &[Step], found: &mut Found) {
    for (name, item) in here.iter() {
        let path = [path, &[Step::Key(name.to_owned())]].concat();
        let key = here.get_key_value(name).and_then(|(key, _)| key.span());
        if let Some(span) = key.or_else(|| item.span()) {
            found.push((path.clone(), span.start));
        }
        match item {
            Item::Table(inner) => table(inner, &path, found),
            Item::ArrayOfTables(tables) => {
                for (index, inner) in tables.iter().enumerate() {
                    let path = [&path[..], &[Step::Index(index)]].concat();
                    found.extend(inner.span().map(|span| (path.clone(), span.start)));
                    table(inner, &path, found);
                }
            }
            Item::Value(inner) => value(inner, &path, found),
            Item::None => {}
        }
    }
}

fn value(here: &Value, path: &[Step], found: &mut Found) {
    match here {
        Value::InlineTable(inner) => table(inner, path, found),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let path = [path, &[Step::Index(index)]].concat();
                found.extend(item.span().map(|span| (path.clone(), span.start)));
                value(item, &path, found);
            }
        }
        _ => {}
    }
}
