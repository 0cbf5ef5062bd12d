use super::*;

#[test]
fn every_profile_is_found_by_its_name() {
    for profile in Profile::ALL {
        assert_eq!(Profile::from_name(profile.name()), Some(profile));
    }
    assert_eq!(Profile::from_name("linux6"), None);
}
