use super::*;
use crate::config::{all_knobs, choices, Knob, RecoveryConfig, RecoveryKind, WindowLawKind, RENAMED};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

#[test]
fn every_profile_is_found_by_its_name() {
    for profile in Profile::ALL {
        assert_eq!(Profile::from_name(profile.name()), Some(profile));
        assert_eq!(serde_json::to_value(profile).expect("a name"), Value::from(profile.name()));
    }
    assert_eq!(Profile::from_name("linux6"), None);
}

#[test]
fn every_profile_survives_its_json() {
    for profile in Profile::ALL {
        let json = serde_json::to_string(&profile.config()).expect("plain data");
        assert_eq!(serde_json::from_str::<TcpConfig>(&json).expect("its own JSON"), profile.config());
    }
}

/// Paths of all knobs as study files write them. Omits `without_sack`, whose knobs are those of `new-reno`, and the
/// knobs of `cubic-linux`, which are those of `cubic`.
fn field_names() -> Vec<String> {
    let Ok(Value::Object(fields)) = serde_json::to_value(Profile::Rfc5681.config()) else { panic!("a struct") };
    let choices = choices(Profile::Rfc5681);
    let mut names = BTreeSet::new();
    for (name, value) in fields {
        if let Some(Value::Object(knobs)) = choices["switches"].get(&name) {
            names.extend(knobs.keys().map(|knob| format!("{name}.{knob}")));
        }
        if let Some(Value::Object(words)) = choices["alternatives"].get(&name) {
            for (word, knobs) in words {
                let knobs = knobs.as_object().into_iter().flat_map(|knobs| knobs.keys());
                let own = knobs.filter(|knob| *knob != "without_sack" && word != "cubic-linux");
                names.extend(own.map(|knob| format!("{name}.{word}.{knob}")));
            }
        }
        match value {
            Value::Object(inner) if name == "rto" => names.extend(inner.keys().map(|k| format!("rto.{k}"))),
            _ => {
                names.insert(name);
            }
        }
    }
    names.into_iter().collect()
}

#[test]
fn selective_recoveries_are_the_eras_new_reno_without_sack() {
    for profile in Profile::ALL {
        let new_reno = profile.recovery(RecoveryKind::NewReno);
        for kind in RecoveryKind::ALL.iter().copied().filter(|kind| kind.is_selective()) {
            assert_eq!(profile.recovery(kind).new_reno(), new_reno.new_reno(), "{kind:?} of {}", profile.name());
        }
    }
}

/// The words of an enum, from serde's error for an unknown word.
fn words<T: serde::de::DeserializeOwned>() -> BTreeSet<String> {
    let Err(error) = serde_json::from_str::<T>("\"?\"") else { panic!("a word") };
    let error = error.to_string();
    let words = error.split("expected one of").nth(1).expect("the words that there are");
    words.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// A law or recovery that is missing in the choices or in the table of knobs cannot be named in studies.
#[test]
fn every_window_law_and_recovery_is_among_the_choices_and_in_the_table() {
    let choices = choices(Profile::Rfc5681);
    let mut laws = words::<WindowLawKind>();
    assert!(laws.remove("external"), "it is attached by the caller");
    for (knob, expected) in [("window_law", laws), ("recovery", words::<RecoveryConfig>())] {
        let Some(Value::Object(chosen)) = choices["alternatives"].get(knob) else { panic!("no choices of {knob}") };
        assert_eq!(chosen.keys().cloned().collect::<BTreeSet<_>>(), expected, "{knob}: its choices");
        let row = all_knobs().into_iter().find(|row| row.name == knob).expect("its row");
        assert_eq!(row.kind.split(" | ").map(str::to_owned).collect::<BTreeSet<_>>(), expected, "{knob}: its row");
    }
}

/// The successor of each renamed knob exists.
#[test]
fn renamed_knobs_exist() {
    for (old, new) in RENAMED {
        let name = new.split(' ').next().expect("a name");
        let known = |knob: &Knob| knob.name == name || knob.name == format!("{name}_ns");
        assert!(
            all_knobs().iter().any(known) && !all_knobs().iter().any(|knob| knob.name == old),
            "{old} is not {new}"
        );
    }
}

#[test]
fn table_has_each_knob_of_the_config_once() {
    let mut names: Vec<String> = all_knobs().iter().map(|k| k.name.to_string()).collect();
    names.sort();
    assert_eq!(names, field_names());
}

#[test]
fn every_knob_says_what_it_does_and_where_its_values_come_from() {
    for knob in all_knobs() {
        assert!(knob.doc.ends_with('.') && !knob.kind.is_empty(), "{}", knob.name);
        for profile in Profile::ALL {
            assert!(knob.source(profile).len() > 5, "{} of {} has no source", knob.name, profile.name());
        }
    }
    let Ok(Value::Array(rows)) = serde_json::from_str(&knobs_json()) else { panic!("a list") };
    for row in rows {
        for profile in Profile::ALL {
            assert!(!row["values"][profile.name()].is_null(), "{row}");
        }
    }
}

/// A value as the profiles page shows it: times in s or ms.
fn shown(name: &str, value: &Value) -> String {
    match value.as_u64() {
        Some(0) if name.ends_with("_ns") => "0".into(),
        Some(ns) if name.ends_with("_ns") && ns % 1_000_000_000 == 0 => format!("{} s", ns / 1_000_000_000),
        Some(ns) if name.ends_with("_ns") => format!("{} ms", ns as f64 / 1e6),
        _ => match value {
            Value::String(s) => s.clone(),
            Value::Object(choice) => {
                let mut text = String::new();
                for (i, (key, inner)) in choice.iter().enumerate() {
                    let separator = if i > 0 { ", " } else { "" };
                    let inner = shown(key, inner);
                    let _ = if inner.contains('=') {
                        write!(text, "{separator}{key} ({inner})")
                    } else {
                        write!(text, "{separator}{key} = {inner}")
                    };
                }
                text
            }
            other => other.to_string(),
        },
    }
}

fn page() -> String {
    let mut page = String::from(
        "# Profiles\n\nA profile names an era: a value for every knob of a TCP endpoint, each with its source. A study names a profile and\n\
         overrides knobs by name.\n\n<!-- Made from KNOBS by a test; remake it with `CWNDLAB_REGENERATE=1 cargo test -p cwndlab-tcp profiles_page`. -->\n",
    );
    let names = Profile::ALL.map(Profile::name);
    let _ = writeln!(page, "\n| knob | type | {} |\n|---|---|{}", names.join(" | "), "---|".repeat(names.len()));
    let rows: Vec<Value> = serde_json::from_str(&knobs_json()).expect("a list");
    let cell = |text: &str| text.replace('|', "\\|");
    for row in &rows {
        let name = row["name"].as_str().expect("a name");
        let _ = write!(
            page,
            "| [`{name}`](#{}) | {}",
            name.replace(['.', '_'], "-"),
            cell(row["type"].as_str().expect("a type"))
        );
        for profile in Profile::ALL {
            let _ = write!(page, " | {}", cell(&shown(name, &row["values"][profile.name()])));
        }
        page.push_str(" |\n");
    }
    for row in &rows {
        let name = row["name"].as_str().expect("a name");
        let _ = write!(
            page,
            "\n({})=\n### {name}\n{}\n",
            name.replace(['.', '_'], "-"),
            row["doc"].as_str().expect("a text")
        );
        if let Some(range) = row["range"].as_str().filter(|range| !range.is_empty()) {
            page.truncate(page.trim_end().len());
            let _ = writeln!(page, " It must be {range}.");
        }
        for profile in Profile::ALL {
            let (value, source) =
                (&row["values"][profile.name()], row["sources"][profile.name()].as_str().expect("a source"));
            let _ = writeln!(page, "- {}: **{}**. {source}.", profile.name(), shown(name, value));
        }
    }
    page
}

/// In `linux-2.0` and `linux-2.2`, every value that differs from that of `rfc5681` cites the kernel's source.
#[test]
fn every_value_in_which_linux_2_differs_has_its_file_and_line() {
    for profile in [Profile::Linux2_0, Profile::Linux2_2] {
        let own = serde_json::to_value(profile.config()).expect("plain data");
        let base = serde_json::to_value(Profile::Rfc5681.config()).expect("plain data");
        for knob in all_knobs() {
            let differs =
                json::value(&knob, &own, &choices(profile)) != json::value(&knob, &base, &choices(Profile::Rfc5681));
            let sourced = [".c ", ".h ", "HZ = 100"].iter().any(|mark| knob.source(profile).contains(mark));
            assert!(!differs || sourced, "{} of {}: {}", knob.name, profile.name(), knob.source(profile));
        }
    }
}

/// docs/reference/profiles.md is generated from the table of knobs.
#[test]
fn profiles_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/profiles.md");
    if std::env::var_os("CWNDLAB_REGENERATE").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("docs/reference");
        std::fs::write(&path, page()).expect("docs/reference/profiles.md");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page(), "docs/reference/profiles.md is stale: run with CWNDLAB_REGENERATE=1 and commit it");
}

#[test]
fn the_choices_of_a_profile_are_a_table_of_alternatives_and_switches() {
    for profile in Profile::ALL {
        let read: Value = serde_json::from_str(&choices_json(profile)).expect("JSON");
        assert_eq!(read, choices(profile));
        for (knob, word) in [("recovery", "rack"), ("window_law", "cubic")] {
            assert!(read["alternatives"][knob].get(word).is_some(), "{knob}: {word}");
        }
        assert!(read["switches"].get("fin").is_some() && read["switches"].get("handshake").is_some());
    }
}
