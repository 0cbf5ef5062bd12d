//! The example of `CONTRIBUTING.md`: compiled and run here, and printed there word for word.

mod application;

use std::path::Path;

/// A reader of `CONTRIBUTING.md` can copy the example and build it.
#[test]
fn contributing_prints_the_example_as_it_is_compiled() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../CONTRIBUTING.md");
    let page = std::fs::read_to_string(path).expect("CONTRIBUTING.md");
    let example = include_str!("examples/application.rs").split("#[cfg(test)]").next().unwrap_or_default().trim_end();
    assert!(page.contains(example), "CONTRIBUTING.md lacks this example, or has an older one:\n{example}");
}
