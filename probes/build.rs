//! Turns the files of rules and facts into JSON, which the program reads several times faster than TOML when it starts.
//!
//! Of facts every table stands on a line of its own. Of rules, what the reader wants to know the place of is a pair of its line and itself.
//! The tables of releases are packed.
//! Rules, of which there are many, each stand on a line of their own behind that number, so that they are read one after the other.

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use toml::Spanned;

/// The parts of a rule file whose places are kept.
#[derive(Deserialize)]
struct Places {
    framework: Spanned<IgnoredAny>,
    version: Option<Spanned<IgnoredAny>>,
    launch: Option<Spanned<IgnoredAny>>,
    #[serde(default)]
    lever: Vec<Spanned<IgnoredAny>>,
    #[serde(default)]
    part: Vec<Spanned<IgnoredAny>>,
    #[serde(default)]
    config: Vec<Spanned<IgnoredAny>>,
    #[serde(default)]
    rule: Vec<Spanned<IgnoredAny>>,
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=releases");
    for (folder, converted) in [
        ("rules", rules as fn(&Path) -> Result<String, Box<dyn Error>>),
        ("errors", facts),
        ("gpus", facts),
        ("models", facts),
    ] {
        println!("cargo::rerun-if-changed={folder}");
        convert(folder, converted)?;
    }
    println!("cargo::rerun-if-changed=rules.txt");
    let order = fs::read_to_string("rules.txt")?;
    list("rules", order.lines().map(str::to_owned).collect())?;
    list("errors", names("errors")?)?;
    list("models", names("models")?)?;
    pack("releases", &["tags.csv", "pins.csv", "installs.csv", "wheels.csv", "arm.csv"])
}

/// Compresses files of a folder.
fn pack(folder: &str, names: &[&str]) -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?).join(folder);
    fs::create_dir_all(&out)?;
    for name in names {
        let file = File::create(out.join(format!("{name}.z")))?;
        let mut packed = ZlibEncoder::new(file, Compression::best());
        packed.write_all(&fs::read(Path::new(folder).join(name))?)?;
        packed.finish()?;
    }
    Ok(())
}

/// The files of facts and rules in a folder, in the order of their names.
fn names(folder: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into()));
    let mut names: Vec<String> = names.collect::<Result<_, std::io::Error>>()?;
    names.retain(|name| name.ends_with(".toml"));
    names.sort();
    Ok(names)
}

/// Writes a table in Rust of the names and texts of converted files.
fn list(folder: &str, names: Vec<String>) -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let row = |name: &String| {
        let path = out.join(folder).join(format!("{name}.json"));
        format!("({name:?}, include_str!({path:?})),\n")
    };
    let rows: String = names.iter().map(row).collect();
    Ok(fs::write(out.join(format!("{folder}.rs")), format!("&[{rows}]"))?)
}

/// Writes every file of a folder as JSON.
fn convert(
    folder: &str,
    converted: fn(&Path) -> Result<String, Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?).join(folder);
    fs::create_dir_all(&out)?;
    for name in names(folder)? {
        let text = converted(&Path::new(folder).join(&name))?;
        fs::write(out.join(name + ".json"), text)?;
    }
    Ok(())
}

/// A file of facts, a table a line. One with a mistake is left to the tests, which name the line.
fn facts(path: &Path) -> Result<String, Box<dyn Error>> {
    let text = fs::read_to_string(path)?;
    let tables: serde_json::Map<String, Value> =
        toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let lines = tables.into_iter().flat_map(|(key, value)| match value {
        Value::Array(rows) => rows.into_iter().map(|row| json!({ &key: [row] })).collect(),
        table => vec![json!({ key: table })],
    });
    Ok(lines.map(|line| line.to_string()).collect::<Vec<_>>().join("\n"))
}

/// A file of rules. One with a mistake is left to the tests, which name the line.
fn rules(path: &Path) -> Result<String, Box<dyn Error>> {
    let text = fs::read_to_string(path)?;
    let places: Places =
        toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut file = serde_json::to_value(toml::from_str::<toml::Table>(&text)?)?;
    let line = |place: &Spanned<IgnoredAny>| 1 + text[..place.span().start].matches('\n').count();
    for (key, place) in [
        ("framework", Some(&places.framework)),
        ("version", places.version.as_ref()),
        ("launch", places.launch.as_ref()),
    ] {
        if let Some(place) = place {
            file[key] = json!([line(place), file[key].take()]);
        }
    }
    for (key, all) in [("lever", &places.lever), ("part", &places.part), ("config", &places.config)]
    {
        for (at, place) in all.iter().enumerate() {
            file[key][at] = json!([line(place), file[key][at].take()]);
        }
    }
    let rules = file.as_object_mut().and_then(|file| file.remove("rule")).unwrap_or_default();
    let mut lines = serde_json::to_string(&file)?;
    for (rule, place) in rules.as_array().into_iter().flatten().zip(&places.rule) {
        lines += &format!("\n{} {rule}", line(place));
    }
    Ok(lines)
}
