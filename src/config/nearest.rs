//! What a mistyped word was probably meant to be.

/// Longer words are cut: nobody means anything by them.
const MAX_LETTERS: usize = 64;

/// The candidate most likely meant, if any is near enough.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: String = word.chars().take(MAX_LETTERS).collect();
    let limit = (word.chars().count() / 3).max(1) + 1;
    let distances = candidates.into_iter().map(|other| (strsim::levenshtein(&word, other), other));
    distances.filter(|(distance, _)| *distance <= limit).min().map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_near_is_proposed() {
        let keys = ["interval", "theme", "color"];
        assert_eq!(nearest("intervall", keys), Some("interval"));
        assert_eq!(nearest("colour", keys), Some("color"));
        assert_eq!(nearest("zebra", keys), None);
        assert_eq!(nearest("", []), None);
    }
}
