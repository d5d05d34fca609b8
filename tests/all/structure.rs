//! The picture of the house in ARCHITECTURE.md, drawn from the code.

use std::collections::BTreeSet;
use std::fs;

use crate::arrows::{LAYERS, code};

const BEGIN: &str = "<!-- drawn from the code: UPDATE_STRUCTURE=1 cargo test structure -->\n```\n";
const END: &str = "```\n<!-- end of the drawing -->";

/// Which layers name which: `(from, to)`.
fn uses() -> BTreeSet<(String, String)> {
    let word = |text: &str| {
        text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("").to_owned()
    };
    let pairs = code().into_iter().flat_map(|(name, code)| {
        let used: Vec<String> = code.split("crate::").skip(1).map(word).collect();
        used.into_iter().map(move |used| (word(&name), used))
    });
    pairs.collect()
}

/// A row for each layer with a mark below those it uses; one right of the diagonal would be an arrow backwards.
fn drawing() -> String {
    let (uses, layers) = (uses(), LAYERS.concat());
    let cell = |from: &&str, to: &&str| match uses.contains(&((*from).into(), (*to).into())) {
        _ if from == to => "\\",
        true => "x",
        false => "",
    };
    let head = layers.iter().fold(" ".repeat(9), |line, layer| format!("{line} {layer:>8}"));
    let rows = layers.iter().map(|from| {
        let row = layers.iter().map(|to| format!(" {:>8}", cell(from, to))).collect::<String>();
        format!("{from:<9}{}", row.trim_end())
    });
    std::iter::once(head).chain(rows).map(|line| line + "\n").collect()
}

#[test]
fn the_picture_of_the_layers_is_that_of_the_code() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/ARCHITECTURE.md");
    let page = fs::read_to_string(path).expect("is readable");
    let begin = page.find(BEGIN).expect("has the drawing") + BEGIN.len();
    let end = begin + page[begin..].find(END).expect("ends the drawing");
    let drawn = drawing();
    if std::env::var_os("UPDATE_STRUCTURE").is_some() {
        let renewed = format!("{}{drawn}{}", &page[..begin], &page[end..]);
        fs::write(path, renewed).expect("is writable");
    } else {
        assert!(page[begin..end] == drawn, "stale: run UPDATE_STRUCTURE=1 cargo test structure");
    }
}
