//! The table of knobs and the alternatives of each profile, as JSON.

use crate::config::{all_knobs, choices, Knob, Profile};
use serde_json::{json, Map, Value};

/// Returns a knob's value in a profile. For a knob with alternatives, returns only the name of the chosen one, because
/// the knobs of that alternative have rows of their own. For a switch, returns whether it is on.
pub(super) fn value(knob: &Knob, config: &Value, choices: &Value) -> Value {
    let path = format!("/{}", knob.name.replace('.', "/"));
    if choices["alternatives"].get(knob.name).is_some() {
        return match &config[knob.name] {
            Value::Object(tagged) => tagged.keys().next().cloned().into(),
            word => word.clone(),
        };
    }
    if choices["switches"].get(knob.name).is_some() {
        return Value::from(!config[knob.name].is_null());
    }
    let found = ["alternatives", "switches"].iter().find_map(|group| choices[group].pointer(&path));
    found.or_else(|| config.pointer(&path)).cloned().unwrap_or_default()
}

/// The alternatives and switches of a profile, as JSON. `alternatives` maps `recovery` and `window_law` to the words
/// that name their alternatives, and each word to the knobs of the alternative (null if it has none). `switches` maps
/// `handshake` and `fin`, which can be switched off, to their knobs.
pub fn choices_json(profile: Profile) -> String {
    choices(profile).to_string()
}

/// The table with the profiles' values: a JSON list of `{name, type, range, doc, values: {profile: …}, sources:
/// {profile: …}}`.
pub fn knobs_json() -> String {
    let configs = Profile::ALL.map(|p| (p, serde_json::to_value(p.config()).unwrap_or_default(), choices(p)));
    let table: Vec<Value> = all_knobs()
        .iter()
        .map(|knob| {
            let (mut values, mut sources) = (Map::new(), Map::new());
            for (profile, config, choices) in &configs {
                values.insert(profile.name().into(), value(knob, config, choices));
                sources.insert(profile.name().into(), knob.source(*profile).into());
            }
            json!({
                "name": knob.name, "type": knob.kind, "range": knob.range, "doc": knob.doc, "values": values, "sources": sources,
            })
        })
        .collect();
    Value::Array(table).to_string()
}
