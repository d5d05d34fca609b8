/// The candidate a typing person most likely meant, if any is near enough.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.chars().take(64).collect();
    let limit = (word.len() / 3).max(1) + 1;
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions and replacements between two words.
fn distance(word: &[char], other: &str) -> usize {
    let mut row: Vec<usize> = (0..=word.len()).collect();
    for (line, letter) in other.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, own) in word.iter().enumerate() {
            let replaced = diagonal + usize::from(*own != letter);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[word.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_the_textbook() {
        let chars = |text: &str| text.chars().collect::<Vec<_>>();
        for (left, right, want) in
            [("kitten", "sitting", 3), ("saturday", "sunday", 3), ("", "abc", 3), ("a", "a", 0)]
        {
            assert_eq!(distance(&chars(left), right), want);
            assert_eq!(distance(&chars(right), left), want);
        }
    }

    #[test]
    fn only_what_is_near_is_proposed() {
        let keys = ["interval", "theme", "color"];
        assert_eq!(nearest("intervall", keys), Some("interval"));
        assert_eq!(nearest("colour", keys), Some("color"));
        assert_eq!(nearest("zebra", keys), None);
        assert_eq!(nearest("", []), None);
    }
}
