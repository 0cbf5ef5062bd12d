use std::collections::BTreeSet;

use arrow_array::Array as _;

use super::*;
use crate::samples::segment;

#[test]
fn rows_come_back_from_arrow_as_they_were_recorded() {
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
    assert_eq!(batch.column_by_name("cause").unwrap().null_count(), 2);
}

#[test]
fn recorded_vectors_are_handed_over_not_copied() {
    let mut table = Queues::default();
    for k in 0..1000 {
        table.push(QueueRow { time_ns: k, link: 0, packets: 1, bytes: 1, average: None });
    }
    let recorded = table.time_ns.as_ptr();
    let batch = table.finish();
    let times = batch.column(0).as_any().downcast_ref::<arrow_array::UInt64Array>().unwrap();
    assert_eq!(times.values().as_ptr(), recorded);
}

#[test]
fn a_batch_of_another_table_is_refused_with_the_column_and_its_type() {
    let Err(error) = Segments::rows(&Queues::default().finish()).map(drop) else { panic!("accepted") };
    assert_eq!(error.to_string(), "table segments: column \"event\" is missing, it must be dictionary of text");
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

/// docs/guide/records.md is made from the tables.
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
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/records.md");
    if std::env::var_os("CWNDLAB_REGENERATE").is_some() {
        std::fs::write(&path, &page).expect("docs/guide/records.md");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page, "docs/guide/records.md is stale: run with CWNDLAB_REGENERATE=1 and commit it");
}
