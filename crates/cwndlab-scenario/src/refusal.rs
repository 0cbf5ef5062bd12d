//! Why a scenario cannot be run, as data: what reports an error at its place needs no text to be parsed.

use std::fmt::Display;

use cwndlab_tcp::ConfigError;
use serde_json::Value;
use serde_path_to_error::Segment;
use thiserror::Error;

/// Why a scenario cannot be run. The message says where the error is.
#[derive(Debug, Error)]
pub enum ScenarioError {
    /// The text is not the JSON of a scenario.
    #[error("scenario: {error}")]
    Json {
        /// Keys and indices that lead to it, as far as they are known.
        path: Vec<String>,
        /// What is wrong.
        error: serde_json::Error,
    },
    /// An invalid value.
    #[error("{place}: {why}")]
    Invalid {
        /// Where the value is.
        place: Place,
        /// What is wrong and what would be right.
        why: String,
    },
    /// All invalid knobs of endpoint configurations, one per line.
    #[error("{}", lines(.0))]
    Knobs(Vec<KnobError>),
}

/// An invalid knob of an endpoint configuration.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("tcp[{group}].{}: {error}", error.knob())]
pub struct KnobError {
    /// Index of the configuration.
    pub group: usize,
    /// What is wrong.
    pub error: ConfigError,
}

fn lines(errors: &[KnobError]) -> String {
    errors.iter().map(KnobError::to_string).collect::<Vec<_>>().join("\n")
}

/// The place of a value: an element of one of the scenario's lists, if it is in one, and a dotted key.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// The list, the index of the element and its name.
    element: Option<(&'static str, usize, String)>,
    key: String,
}

impl Place {
    /// A key of an element of a list. The element's `name` is for the message.
    pub fn in_list(list: &'static str, index: usize, name: &str, key: &str) -> Place {
        Place { element: Some((list, index, name.to_owned())), key: key.to_owned() }
    }

    /// Keys and indices that lead to the value.
    fn path(&self) -> Vec<String> {
        let element = self.element.iter().flat_map(|(list, index, _)| [(*list).to_owned(), index.to_string()]);
        element.chain(steps(&self.key)).collect()
    }
}

impl<T: Into<String>> From<T> for Place {
    fn from(key: T) -> Place {
        Place { element: None, key: key.into() }
    }
}

impl Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some((list, index, name)) = &self.element {
            write!(f, "{list}[{index}] ({name}).")?;
        }
        f.write_str(&self.key)
    }
}

/// The steps of a dotted key with indices, like `impairments[2].p`.
fn steps(key: &str) -> impl Iterator<Item = String> + '_ {
    key.split(['.', '[', ']']).filter(|step| !step.is_empty()).map(str::to_owned)
}

/// Makes a [`ScenarioError::Invalid`].
#[allow(clippy::needless_pass_by_value)] // accepts texts and errors
pub fn invalid(place: impl Into<Place>, why: impl Display) -> ScenarioError {
    ScenarioError::Invalid { place: place.into(), why: why.to_string() }
}

/// The error for a scenario that cannot be parsed. If the reason is a knob of an earlier version, the error names the
/// knob that replaced it.
pub(crate) fn unreadable(text: &str, error: serde_path_to_error::Error<serde_json::Error>) -> ScenarioError {
    let mut path: Vec<String> = error.path().iter().filter_map(step).collect();
    let error = error.into_inner();
    let unknown = Unknown::named_by(&error);
    let old = unknown.as_ref().filter(|one| one.is_key).map_or("", |one| &one.name);
    if let Some((_, new)) = cwndlab_tcp::RENAMED.iter().find(|(name, _)| name.rsplit('.').next() == Some(old)) {
        return invalid("tcp", format!("the knob {old:?} has another place: write {new}"));
    }
    if let Some(unknown) = &unknown {
        // A table with a `kind` is read whole before its keys are looked at, so the path may end above the name.
        let whole: Value = serde_json::from_str(text).unwrap_or_default();
        let here = path.iter().try_fold(&whole, |value, step| inside(value, step));
        path.extend(here.and_then(|value| way_to(value, unknown)).unwrap_or_default());
    }
    ScenarioError::Json { path, error }
}

/// The error for a part of a scenario that cannot be parsed; `path` leads to the part.
pub(crate) fn unreadable_part(path: &[&str], part: &Value, error: serde_json::Error) -> ScenarioError {
    let inside = Unknown::named_by(&error).and_then(|unknown| way_to(part, &unknown)).unwrap_or_default();
    let path = path.iter().map(|step| (*step).to_owned()).chain(inside).collect();
    ScenarioError::Json { path, error }
}

fn step(segment: &Segment) -> Option<String> {
    match segment {
        Segment::Seq { index } => Some(index.to_string()),
        Segment::Map { key } => Some(key.clone()),
        Segment::Enum { .. } | Segment::Unknown => None,
    }
}

fn inside<'a>(value: &'a Value, step: &str) -> Option<&'a Value> {
    match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        other => other.get(step),
    }
}

/// The steps from a value down to a key, or to a text, of this name.
fn way_to(value: &Value, unknown: &Unknown) -> Option<Vec<String>> {
    let items: Vec<(String, &Value)> = match value {
        Value::Array(items) => items.iter().enumerate().map(|(k, item)| (k.to_string(), item)).collect(),
        Value::Object(items) => items.iter().map(|(key, item)| (key.clone(), item)).collect(),
        _ => return None,
    };
    items.into_iter().find_map(|(step, item)| {
        let found = if unknown.is_key { step == unknown.name } else { item.as_str() == Some(&unknown.name) };
        let below = if found { Some(Vec::new()) } else { way_to(item, unknown) };
        below.map(|below| [vec![step], below].concat())
    })
}

/// A name that the scenario has and the engine does not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unknown {
    /// Whether it is a key; otherwise it is the name of a kind or an alternative.
    pub is_key: bool,
    /// The name.
    pub name: String,
    /// The names that the engine has in its place.
    pub known: Vec<String>,
}

impl Unknown {
    /// The name that serde does not know. Its error is a text: "unknown field `x`, expected one of `y`, `z`".
    fn named_by(error: &serde_json::Error) -> Option<Unknown> {
        let text = error.to_string();
        let is_key = text.starts_with("unknown field");
        let mut names = text.split('`').skip(1).step_by(2).map(str::to_owned);
        let rejects_name = is_key || text.starts_with("unknown variant");
        let name = names.next().filter(|_| rejects_name)?;
        Some(Unknown { is_key, name, known: names.collect() })
    }
}

/// One reason why a scenario cannot be run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Keys and indices that lead to the value in the scenario; empty if they are not known.
    pub path: Vec<String>,
    /// What is wrong and what would be right.
    pub problem: String,
    /// The name that is not known, if that is the problem.
    pub unknown: Option<Unknown>,
}

impl ScenarioError {
    /// Every reason, as data.
    pub fn refusals(&self) -> Vec<Refusal> {
        match self {
            ScenarioError::Json { path, error } => {
                let text = error.to_string();
                let place = format!(" at line {} column {}", error.line(), error.column());
                let problem = text.strip_suffix(&place).unwrap_or(&text).to_owned();
                vec![Refusal { path: path.clone(), problem, unknown: Unknown::named_by(error) }]
            }
            ScenarioError::Invalid { place, why } => {
                vec![Refusal { path: place.path(), problem: why.clone(), unknown: None }]
            }
            ScenarioError::Knobs(errors) => errors.iter().map(KnobError::refusal).collect(),
        }
    }
}

impl KnobError {
    fn refusal(&self) -> Refusal {
        let path = ["tcp".to_owned(), self.group.to_string()].into_iter().chain(steps(self.error.knob())).collect();
        Refusal { path, problem: self.error.to_string(), unknown: None }
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::Scenario;

    /// A scenario of one link, with this queue and this probe.
    fn refusals(queue: &str, probe: &str) -> Vec<(String, String, Vec<String>)> {
        let link = format!(r#""name":"a>b","from":0,"to":1,"rate_bps":1000,"delay_ns":0,"queue":{queue}"#);
        let text = format!(
            r#"{{"duration_ns":1000,"nodes":["a","b"],"links":[{{{link}}}],"tcp":[],"traffic":[],"probes":{{{probe}}}}}"#
        );
        let found = Scenario::from_json(&text).map(drop).expect_err("something is wrong").refusals();
        let known = |one: &super::Refusal| one.unknown.as_ref().map_or(Vec::new(), |unknown| unknown.known.clone());
        found.iter().map(|one| (one.path.join("/"), one.problem.clone(), known(one))).collect()
    }

    #[test]
    fn an_unknown_key_has_its_path_and_the_known_keys() {
        let (path, _, known) = refusals(r#"{"kind":"drop-tail","limit":1,"colour":1}"#, "").remove(0);
        assert_eq!(path, "links/0/queue/colour");
        assert!(known.contains(&"limit".to_owned()), "{known:?}");
        let (path, _, known) = refusals(r#"{"kind":"infinite"}"#, r#""colour":true"#).remove(0);
        assert_eq!(path, "probes/colour");
        assert!(known.contains(&"cwnd".to_owned()), "{known:?}");
    }

    #[test]
    fn an_unknown_kind_leads_to_the_text() {
        let (path, _, known) = refusals(r#"{"kind":"round"}"#, "").remove(0);
        assert_eq!(path, "links/0/queue/kind");
        assert!(known.contains(&"codel".to_owned()), "{known:?}");
    }

    #[test]
    fn a_value_out_of_range_has_its_path_and_no_place_in_its_text() {
        let (path, problem, _) = refusals(r#"{"kind":"drop-tail","limit":0}"#, "").remove(0);
        assert_eq!(path, "links/0/queue");
        assert!(!problem.contains("links"), "{problem}");
        let (path, problem, _) = refusals(r#"{"kind":"infinite"}"#, r#""segments_at":7"#).remove(0);
        assert_eq!((path.as_str(), problem.as_str()), ("probes/segments_at", "node 7 does not exist; there are 2"));
    }

    #[test]
    fn a_value_of_another_type_has_its_path_and_no_column() {
        let (path, problem, _) = refusals(r#"{"kind":"infinite"}"#, r#""cwnd":3"#).remove(0);
        assert_eq!(path, "probes/cwnd");
        assert!(!problem.contains("column"), "{problem}");
    }
}
