//! The examples of `CONTRIBUTING.md`: compiled and run here, and printed there word for word.

mod knob;
mod law;
mod recovery;

use std::path::Path;

/// A reader of `CONTRIBUTING.md` can copy an example and build it.
#[test]
fn contributing_prints_each_example_as_it_is_compiled() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../CONTRIBUTING.md");
    let page = std::fs::read_to_string(path).expect("CONTRIBUTING.md");
    for source in
        [include_str!("examples/knob.rs"), include_str!("examples/law.rs"), include_str!("examples/recovery.rs")]
    {
        let example = source.split("#[cfg(test)]").next().unwrap_or_default().trim_end();
        assert!(page.contains(example), "CONTRIBUTING.md lacks this example, or has an older one:\n{example}");
    }
}
