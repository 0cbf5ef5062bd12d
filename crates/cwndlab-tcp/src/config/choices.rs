//! The alternatives that a study can name, and the values that a profile gives to their knobs.

use serde_json::{json, Map, Value};

use super::{FinConfig, HandshakeConfig, Profile, RecoveryKind, WindowLawKind};

/// The alternatives that a study can name, and their knobs with the profile's values. `alternatives` maps `recovery`
/// and `window_law` to the words that name their alternatives, and each word to the knobs of the alternative, or to
/// null if it has none. `switches` maps each feature that a study can switch on and off to its knobs.
pub(crate) fn choices(profile: Profile) -> Value {
    let recoveries = RecoveryKind::ALL.iter().map(|&kind| serde_json::to_value(profile.recovery(kind)));
    let laws = WindowLawKind::all(profile).into_iter().map(serde_json::to_value);
    json!({
        "alternatives": {
            "recovery": by_word(recoveries.flatten()),
            "window_law": by_word(laws.flatten()),
        },
        "switches": { "handshake": HandshakeConfig::of(profile), "fin": FinConfig::of(profile) },
    })
}

/// Maps the tags of serde's externally tagged enum values to the knobs that they contain, or to null.
fn by_word(values: impl Iterator<Item = Value>) -> Map<String, Value> {
    let mut words = Map::new();
    for value in values {
        match value {
            Value::String(word) => {
                words.insert(word, Value::Null);
            }
            Value::Object(tagged) => words.extend(tagged),
            _ => {}
        }
    }
    words
}
