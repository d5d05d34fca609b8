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

/// Up to three candidates most likely meant, the nearest first: those that are near enough, and those that contain the word.
pub fn near<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let word: String = word.chars().take(MAX_LETTERS).collect();
    let limit = (word.chars().count() / 3).max(1) + 1;
    let distance = |other: &str| match word.len() > 1 && other.contains(&word) {
        true => 0,
        false => strsim::levenshtein(&word, other),
    };
    let rated = candidates.into_iter().map(|other| (distance(other), other));
    let mut rated: Vec<_> = rated.filter(|(distance, _)| *distance <= limit).collect();
    rated.sort_by_key(|(distance, _)| *distance);
    rated.into_iter().take(3).map(|(_, candidate)| candidate).collect()
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
        assert_eq!(
            near("lama", ["vllm", "llama-cpp", "ollama", "lmdeploy"]),
            ["llama-cpp", "ollama"]
        );
        assert_eq!(near("zebra", keys), [""; 0]);
    }
}
