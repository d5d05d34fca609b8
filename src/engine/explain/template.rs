//! Sentences with slots.

use super::fact::Facts;

/// The sentence with its facts; a part in `<<…>>` with an unknown fact is left out. `None` where one outside such a part is unknown.
pub(super) fn filled(template: &str, facts: &Facts) -> Option<String> {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("<<") {
        text += &slots(before, facts)?;
        let (part, behind) = after.split_once(">>").unwrap_or((after, ""));
        text += &slots(part, facts).unwrap_or_default();
        rest = behind;
    }
    text += &slots(rest, facts)?;
    Some(text)
}

fn slots(template: &str, facts: &Facts) -> Option<String> {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, name, after)) = slot(rest) {
        text += before;
        text += &facts.get(name)?.shown;
        rest = after;
    }
    Some(text + rest)
}

/// What stands before, in and behind the first slot. Braces around anything but a name are text: shells and Docker use them.
fn slot(text: &str) -> Option<(&str, &str, &str)> {
    text.match_indices('{').find_map(|(open, _)| {
        let (name, after) = text[open + 1..].split_once('}')?;
        let is_name = |letter: char| letter.is_ascii_lowercase() || letter == '_';
        (!name.is_empty() && name.chars().all(is_name)).then(|| (&text[..open], name, after))
    })
}

#[cfg(test)]
mod tests {
    use super::super::fact::Origin;
    use super::*;

    #[test]
    fn parts_with_an_unknown_fact_are_left_out() {
        let mut facts = Facts::default();
        facts.state("cc", "7.5", Origin::Text);
        let fill = |template| filled(template, &facts);
        assert_eq!(fill("on {cc}<< of {gpu}>>.").as_deref(), Some("on 7.5."));
        assert_eq!(fill("a<< with {cc}>> b").as_deref(), Some("a with 7.5 b"));
        assert_eq!(fill("needs {unknown}"), None);
        assert_eq!(fill("awk '{print $1}' {cc}").as_deref(), Some("awk '{print $1}' 7.5"));
    }
}
