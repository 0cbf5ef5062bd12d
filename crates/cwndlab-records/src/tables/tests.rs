use std::collections::BTreeSet;

use super::*;
use crate::column::{Array, Values};
use crate::samples::segment;

#[test]
fn rows_come_back_as_they_were_recorded() {
    let mut full = segment(7, SegmentEvent::Drop);
    full.sack = Sack { len: 2, blocks: [(1460, 2920), (5840, 7300), (0, 0), (0, 0)] };
    (full.ts_val, full.ts_ecr, full.mss_bytes, full.window_scale) = (Some(1), Some(2), Some(1460), Some(7));
    (full.link, full.cause) = (Some(3), Some(OneOf(DropReason::Aqm)));
    let rows = [segment(1, SegmentEvent::Send), full, segment(9, SegmentEvent::DupAck)];
    let mut table = Segments::default();
    for row in rows {
        table.push(row);
    }
    assert_eq!(table.len(), 3);
    let batch = table.finish();
    assert_eq!(Segments::rows(&batch).unwrap().collect::<Vec<_>>(), rows);
    let cause = &batch.column("cause").unwrap().array;
    assert_eq!([0, 1, 2].map(|row| cause.is_valid(row)), [false, true, false]);
}

#[test]
fn recorded_vectors_are_handed_over_not_copied() {
    let mut table = Queues::default();
    for k in 0..1000 {
        table.push(QueueRow { time_ns: k, link: 0, packets: 1, bytes: 1, average: None });
    }
    let recorded: *const u64 = table.time_ns.as_ptr();
    let batch = table.finish();
    assert_eq!(batch.columns()[0].array.values.place(), (recorded.cast(), 8000));
}

#[test]
fn a_batch_of_another_table_is_refused_with_the_column_and_its_type() {
    let Err(error) = Segments::rows(&Queues::default().finish()).map(drop) else { panic!("accepted") };
    assert_eq!(error.to_string(), "table segments: column \"event\" is missing, it must be dictionary of text");
}

#[test]
fn columns_of_another_type_or_with_strange_codes_are_refused() {
    assert_eq!(<u32 as Cell>::view(&Array::full(Values::UInt64(vec![1]))), Err("UInt64".to_string()));
    let words = |code: u8, word: &str| Array::full(Values::Words { codes: vec![code], words: vec![word.into()] });
    let view = |array: &Array| <OneOf<SenderState> as Cell>::view(array).map(|view| <OneOf<_> as Cell>::get(view, 0));
    assert_eq!(view(&words(0, "recovery")), Ok(OneOf(SenderState::Recovery)));
    assert_eq!(view(&words(0, "asleep")), Err("the word \"asleep\"".to_string()));
    assert_eq!(view(&words(1, "open")), Err("a code without a word".to_string()));
    let lists = |ends: Vec<i32>| {
        let values = Array::full(Values::UInt64(vec![1, 2])).into();
        Array::full(Values::Lists { ends, values })
    };
    let sack = |array: &Array| <Sack as Cell>::get(<Sack as Cell>::view(array).unwrap(), 0).as_slice().to_vec();
    assert_eq!(sack(&lists(vec![0, 2])), [(1, 2)]);
    assert_eq!(sack(&lists(vec![0, 4])), []);
    assert_eq!(sack(&lists(vec![-1, 2])), []);
}

#[test]
fn names_are_unique_and_every_column_says_what_it_holds() {
    assert_eq!(TABLES.iter().map(|table| table.name).collect::<BTreeSet<_>>().len(), TABLES.len());
    for table in TABLES {
        let names: BTreeSet<_> = table.columns.iter().map(|column| column.name).collect();
        assert_eq!(names.len(), table.columns.len(), "{}", table.name);
        for column in table.columns {
            assert!(column.about.trim().ends_with('.'), "{}.{}: {:?}", table.name, column.name, column.about);
        }
    }
}

/// docs/reference/records.md is made from the tables.
#[test]
fn the_page_of_records_is_up_to_date() {
    use std::fmt::Write as _;
    let mut page = String::from(
        "# Records\n\nWhat a run leaves behind, simulated or live. Units are part of the columns' names; times count from the \
         start of the run;\nnodes, links and traffic entries are indices into the scenario's lists.\n\n\
         <!-- Made from the tables; remake it with `CWNDLAB_REGENERATE=1 cargo test -p cwndlab-records page_of_records`. -->\n",
    );
    for table in TABLES {
        let _ = write!(
            page,
            "\n## {}\n\n{}\n\n| column | type | what it holds |\n|---|---|---|\n",
            table.name,
            table.about.trim()
        );
        for column in table.columns {
            let _ =
                writeln!(page, "| `{}` | {} | {} |", column.name, column.kind, column.about.trim().replace('|', "\\|"));
        }
    }
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/records.md");
    if std::env::var_os("CWNDLAB_REGENERATE").is_some() {
        std::fs::write(&path, &page).expect("docs/reference/records.md");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page, "docs/reference/records.md is stale: run with CWNDLAB_REGENERATE=1 and commit it");
}
