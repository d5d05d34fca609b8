use toml_edit::{DocumentMut, Formatted, Item, Value as Toml};

use super::file::parse;
use super::value::Value;

/// The text of a configuration file with these keys set; everything else stays, comments too.
pub fn edited<'a>(
    text: &str,
    values: impl IntoIterator<Item = (&'a str, &'a Value)>,
) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error| format!("{error}"))?;
    for (key, value) in values {
        let mut new = toml(value);
        match document.get_mut(key).and_then(Item::as_value_mut) {
            Some(old) => {
                *new.decor_mut() = old.decor().clone();
                *old = new;
            }
            None => drop(document.insert(key, Item::Value(new))),
        }
    }
    let mut new = document.to_string();
    if text.split_once('\n').is_some_and(|(first, _)| first.ends_with('\r')) {
        new = new.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    parse("the new configuration", &new).map_err(|problems| problems.to_string())?;
    Ok(new)
}

fn toml(value: &Value) -> Toml {
    match value {
        Value::Switch(on) => Toml::Boolean(Formatted::new(*on)),
        other => Toml::String(Formatted::new(other.text())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Kind;

    #[test]
    fn comments_order_and_other_keys_stay() {
        let text = "# mine\ntheme = \"dark\" # at night\n\n[keys]\nquit = [\"q\"]\n";
        let light = Value::Path("light".into());
        let units = Kind::Text.parse("decimal").expect("a text");
        let off = Value::Switch(false);
        let new = edited(text, [("theme", &light), ("units", &units), ("mouse", &off)]);
        let want = "# mine\ntheme = \"light\" # at night\nunits = \"decimal\"\nmouse = false\n\n[keys]\nquit = [\"q\"]\n";
        assert_eq!(new.as_deref(), Ok(want));
    }

    #[test]
    fn lines_end_as_they_did() {
        let light = Value::Path("light".into());
        let off = Value::Switch(false);
        let new = edited("# mine\r\ntheme = \"dark\"\r\n", [("theme", &light), ("mouse", &off)]);
        assert_eq!(new.as_deref(), Ok("# mine\r\ntheme = \"light\"\r\nmouse = false\r\n"));
    }

    #[test]
    fn nothing_is_made_of_a_file_with_errors() {
        let light = Value::Path("light".into());
        assert!(edited("theme = ", [("theme", &light)]).is_err());
        assert!(edited("them = \"x\"", [("theme", &light)]).is_err());
    }
}
