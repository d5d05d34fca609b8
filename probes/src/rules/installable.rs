//! Versions that pip can install, by package: a fix names no other.

use super::range::VersionRange;
use super::version::Version;

/// Package, and its versions with blanks between them.
const INSTALLS: &str = include_str!("../../releases/installs.csv");

/// Whether some version of the package in this range can be installed; `None` where the package is not listed.
pub fn is_installable(package: &str, range: &VersionRange) -> Option<bool> {
    let listed = INSTALLS.lines().filter_map(|line| line.split_once(','));
    let (_, versions) = listed.into_iter().find(|row| row.0 == package)?;
    let mut versions = versions.split(' ').filter_map(|text| text.parse::<Version>().ok());
    Some(versions.any(|version| range.contains(Some(&version)) == Some(true)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `pip index versions ktransformers` lists them: 0.3.1 was tagged and never uploaded.
    #[test]
    fn a_tag_is_no_upload() {
        let range = |text: &str| text.parse().expect("a range");
        assert_eq!(is_installable("ktransformers", &range("==0.3.1")), Some(false));
        assert_eq!(is_installable("ktransformers", &range(">=0.2,<0.3")), Some(true));
        assert_eq!(is_installable("nobody's-package", &range(">=0.1")), None);
    }
}
