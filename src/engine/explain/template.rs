//! Sentences with slots.

use super::fact::Facts;
use crate::engine::words::is_plain;

/// The sentence with its facts; a part in `<<…>>` with an unknown fact is left out. `None` where one outside such a part is unknown.
pub(super) fn filled(template: &str, facts: &Facts) -> Option<String> {
    expand(template, &|name| Some(facts.get(name)?.shown.clone()))
}

/// The same for a command somebody pastes and runs: a fact that could mean more than its letters to a shell stays a placeholder.
pub(super) fn command(template: &str, facts: &Facts) -> Option<String> {
    expand(template, &|name| {
        let shown = &facts.get(name)?.shown;
        let is_safe = is_plain(shown) || shown.split(' ').all(is_word);
        Some(if is_safe { shown.clone() } else { format!("<{}>", name.replace('_', " ")) })
    })
}

/// No option, path or sign: several such words do no harm in a command.
fn is_word(text: &str) -> bool {
    text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '.')
}

fn expand(template: &str, value: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("<<") {
        text += &slots(before, value)?;
        let (part, behind) = after.split_once(">>").unwrap_or((after, ""));
        text += &slots(part, value).unwrap_or_default();
        rest = behind;
    }
    text += &slots(rest, value)?;
    Some(text)
}

fn slots(template: &str, value: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, name, after)) = slot(rest) {
        text += before;
        text += &value(name)?;
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

    #[test]
    fn a_text_puts_no_words_into_a_command() {
        let mut facts = Facts::default();
        facts.state("missing_library", "libx.so; rm -rf ~", Origin::Text);
        facts.state("soname", "libcudart.so.12", Origin::Text);
        let told = command("find / -name '{missing_library}' {soname}", &facts);
        assert_eq!(told.as_deref(), Some("find / -name '<missing library>' libcudart.so.12"));
        facts.state("library_release", "CUDA 10 or 11.0", Origin::Text);
        facts.state("library", "x -delete", Origin::Text);
        let told = command("install {library_release} for {library}", &facts);
        assert_eq!(told.as_deref(), Some("install CUDA 10 or 11.0 for <library>"));
    }
}
