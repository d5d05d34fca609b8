//! Makes a table in Rust of the images that the manifest lists and the packs hold, so that nothing is parsed when the program starts.
//!
//! Without a manifest there are no images, and everything else still builds.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

mod manifest;
#[path = "src/sm.rs"]
#[expect(dead_code, unreachable_pub, reason = "the program uses the rest of it")]
mod sm;
#[path = "src/text_serde.rs"]
mod text_serde;

use manifest::{Entry, Family, Image, Manifest};
use sm::Sm;

fn main() -> Result<(), Box<dyn Error>> {
    for watched in ["image", "build.rs", "manifest.rs", "src/sm.rs", "src/text_serde.rs"] {
        println!("cargo::rerun-if-changed={watched}");
    }
    let folder = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("image");
    let manifest = match fs::read_to_string(folder.join("manifest.toml")) {
        Ok(text) => {
            toml::from_str(&text).map_err(|error| format!("image/manifest.toml: {error}"))?
        }
        Err(_) => Manifest::default(),
    };
    let mut table = String::new();
    for (index, family) in manifest.family.iter().enumerate() {
        let path = folder.join(family.pack());
        if !path.is_file() {
            return Err(format!(
                "{} is missing: run build-kernels {}",
                path.display(),
                family.name
            )
            .into());
        }
        writeln!(
            table,
            "static PACK_{index}: Pack = Pack {{ packed: include_bytes!({path:?}), dictionary: {} }};",
            family.dictionary()
        )?;
    }
    table += "static IMAGES: &[Image] = &[\n";
    for (index, family) in manifest.family.iter().enumerate() {
        let mut start = 0;
        for image in &family.image {
            table += &row(family, image, index, start)?;
            start += image.bytes;
        }
    }
    let out = PathBuf::from(env::var("OUT_DIR")?);
    Ok(fs::write(out.join("images.rs"), table + "];\n")?)
}

fn row(
    family: &Family,
    image: &Image,
    pack: usize,
    start: usize,
) -> Result<String, Box<dyn Error>> {
    let Image { sha256, bytes, oldest_driver, .. } = image;
    let (cuda_major, cuda_minor) = version(&image.oldest_cuda)?;
    let oldest_cuda = cuda_major * 1000 + cuda_minor * 10;
    let (isa_major, isa_minor) = version(&image.isa)?;
    Ok(format!(
        "    Image {{ family: {:?}, kind: ImageKind::{:?}, target: {}, class: {}, isa: Isa::new({isa_major}, {isa_minor}), \
         sha256: {sha256:?}, oldest_cuda: {oldest_cuda}, oldest_driver: {oldest_driver:?}, kernels: {:?}, size: {bytes}, \
         pack: &PACK_{pack}, start: {start} }},\n",
        family.name,
        image.kind,
        target(image.target),
        target(image.class),
        kernels(&image.entry),
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

/// A line for each kernel: its name, and what it takes as machine code.
fn kernels(entries: &BTreeMap<String, Entry>) -> String {
    let lines = entries.iter().map(|(name, entry)| match entry.usage {
        Some(usage) => {
            let (registers, shared, stack) = (usage.registers, usage.shared, usage.stack);
            format!("{name} {registers} {shared} {stack} {}", usage.barriers)
        }
        None => name.clone(),
    });
    lines.collect::<Vec<_>>().join("\n")
}
