use crate::config::knobs::knobs;
use crate::config::Profile;

knobs! {
/// Knobs of a law of your own.
pub struct GentleConfig("window_law.gentle.") {
    /// What a loss leaves of the window.
    kept_percent: u32 ["percent"; 1..=99, "in 1..=99"] {
        ns2_1998: 80 => "own choice",
        rfc5681: 80 => "own choice",
        linux_6: 80 => "own choice",
    }
}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::check::Errors;

    #[test]
    fn a_knob_has_a_value_in_each_profile_a_row_a_range_and_a_key() {
        assert_eq!(GentleConfig::of(Profile::Linux2_0), GentleConfig::STANDARD);
        assert_eq!(GentleConfig::STANDARD.kept_percent, 80);
        let row = GentleConfig::KNOBS[0];
        assert_eq!((row.name, row.doc), ("window_law.gentle.kept_percent", "What a loss leaves of the window."));
        let mut errors = Errors::default();
        GentleConfig { kept_percent: 0 }.check_ranges(&mut errors);
        assert_eq!(errors.into_list()[0].to_string(), "0 does not fit; it must be in 1..=99");
        assert!(serde_json::from_str::<GentleConfig>("{\"kept\": 80}").is_err());
    }
}
