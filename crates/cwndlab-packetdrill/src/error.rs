//! Why a script fails.

use std::fmt;

/// The maximum length of a script in seconds. All timers until a script's end are processed, so its length must be
/// bounded.
pub(crate) const LONGEST_S: u64 = 1_000_000;

/// Why a script failed, and at which line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScriptError {
    /// Line of the script, from 1.
    pub line: usize,
    /// What was expected and what happened.
    pub message: String,
    /// Whether the script needs something that this tool does not support. Otherwise the endpoint contradicts the
    /// script, or the script cannot be parsed.
    pub unsupported: bool,
    /// The last events before that line, oldest first.
    pub before: Vec<String>,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.message)
    }
}
impl std::error::Error for ScriptError {}

pub(crate) type Result<T> = std::result::Result<T, ScriptError>;

/// Returns the error for a script that cannot be parsed, or that the endpoint contradicts.
pub(crate) fn wrong<T>(line: usize, message: impl Into<String>) -> Result<T> {
    Err(ScriptError { line, message: message.into(), unsupported: false, before: Vec::new() })
}

/// Returns the error for a script that needs something that this tool does not support.
pub(crate) fn unsupported<T>(line: usize, message: impl Into<String>) -> Result<T> {
    Err(ScriptError { line, message: message.into(), unsupported: true, before: Vec::new() })
}

pub(crate) fn too_late<T>(line: usize) -> Result<T> {
    wrong(line, format!("the script may last at most {LONGEST_S} s (11 days)"))
}
