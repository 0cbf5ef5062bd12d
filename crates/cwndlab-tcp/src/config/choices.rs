//! The knobs that each named alternative of a study has in a profile.

use serde_json::{json, Map, Value};

use super::{FinConfig, HandshakeConfig, Profile, RecoveryKind, WindowLawKind};

/// The knobs behind the words of a study, with the profile's values. `alternatives`: for each knob that takes a word,
/// the knobs of each of its words, or null for a word that has none. `switches`: the knobs of each feature that a study
/// can switch on and off.
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

/// The knobs of externally tagged values by their tags.
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
