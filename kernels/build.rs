//! Packs the images that the manifest lists into the program: each deflated by itself, and a table of them in Rust.
//!
//! Without a manifest there are no images, and everything else still builds.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

#[path = "src/bin/forge/manifest.rs"]
mod manifest;
#[path = "src/sm.rs"]
#[expect(dead_code, unreachable_pub, reason = "the program uses the rest of it")]
mod sm;

use manifest::{Entry, Family, Image, Manifest};
use sm::Sm;

/// Best compression short of trying every match: images are packed once per build, and few.
const LEVEL: u8 = 9;

fn main() -> Result<(), Box<dyn Error>> {
    for watched in ["image", "build.rs", "src/bin/forge/manifest.rs", "src/sm.rs"] {
        println!("cargo::rerun-if-changed={watched}");
    }
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let folder = Path::new("image");
    let manifest = match fs::read_to_string(folder.join("manifest.toml")) {
        Ok(text) => {
            toml::from_str(&text).map_err(|error| format!("image/manifest.toml: {error}"))?
        }
        Err(_) => Manifest::default(),
    };
    let mut blob = Vec::new();
    let mut table = String::new();
    for family in &manifest.family {
        for image in &family.image {
            let start = blob.len();
            blob.extend(packed(folder, image)?);
            table += &row(family, image, start..blob.len())?;
        }
    }
    fs::write(out.join("images.bin"), &blob)?;
    let packed = "const PACKED: &[u8] = include_bytes!(\"images.bin\");\n";
    let packed = if blob.is_empty() { "" } else { packed };
    let text = format!("{packed}static IMAGES: &[Image] = &[\n{table}];\n");
    Ok(fs::write(out.join("images.rs"), text)?)
}

/// The deflated file of an image.
fn packed(folder: &Path, image: &Image) -> Result<Vec<u8>, String> {
    let path = folder.join(&image.file);
    let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    if bytes.len() != image.bytes {
        let (name, found) = (path.display(), bytes.len());
        return Err(format!(
            "{name} has {found} bytes, the manifest says {}: run forge",
            image.bytes
        ));
    }
    Ok(miniz_oxide::deflate::compress_to_vec(&bytes, LEVEL))
}

fn row(
    family: &Family,
    image: &Image,
    place: std::ops::Range<usize>,
) -> Result<String, Box<dyn Error>> {
    let Image { sha256, bytes, oldest_driver, .. } = image;
    let (cuda_major, cuda_minor) = version(&image.oldest_cuda)?;
    let oldest_cuda = cuda_major * 1000 + cuda_minor * 10;
    let (isa_major, isa_minor) = version(&image.isa)?;
    Ok(format!(
        "    Image {{ family: {:?}, kind: ImageKind::{:?}, target: {}, class: {}, isa: Isa::new({isa_major}, {isa_minor}), \
         sha256: {sha256:?}, oldest_cuda: {oldest_cuda}, oldest_driver: {oldest_driver:?}, entries: &[{}], size: {bytes}, \
         packed: PACKED.split_at({}).0.split_at({}).1 }},\n",
        family.name,
        image.kind,
        target(image.target),
        target(image.class),
        entries(&image.entry),
        place.end,
        place.start,
    ))
}

fn version(text: &str) -> Result<(u32, u32), Box<dyn Error>> {
    let (major, minor) = text.split_once('.').ok_or_else(|| format!("{text:?} is no version"))?;
    Ok((major.parse()?, minor.parse()?))
}

fn target(sm: Sm) -> String {
    let Sm { major, minor, suffix } = sm;
    format!("Sm {{ major: {major}, minor: {minor}, suffix: Suffix::{suffix:?} }}")
}

fn entries(entries: &BTreeMap<String, Entry>) -> String {
    let mut text = String::new();
    for (name, entry) in entries {
        let usage = entry.usage.map_or("None".to_owned(), |usage| {
            format!(
                "Some(Usage {{ registers: {}, shared_bytes: {}, stack_bytes: {}, barriers: {} }})",
                usage.registers, usage.shared, usage.stack, usage.barriers
            )
        });
        let threads = entry.threads;
        let row =
            writeln!(text, "Entry {{ name: {name:?}, max_threads: {threads:?}, usage: {usage} }},");
        row.expect("a String takes everything");
    }
    text
}
