//! Packs the images that the manifest lists into the program: those of a family as one, and a table of them in Rust.
//!
//! Images of a family are much alike, and further apart than the window of deflate reaches: LZMA makes them three times smaller than each
//! deflated by itself. All families as one would save another 5 % and take ten times as long to unpack.
//!
//! Without a manifest there are no images, and everything else still builds.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

#[path = "src/bin/forge/manifest.rs"]
mod manifest;
#[path = "src/sm.rs"]
#[expect(dead_code, unreachable_pub, reason = "the program uses the rest of it")]
mod sm;

use lzma_rust2::{Lzma2Options, Lzma2Writer};
use manifest::{Entry, Family, Image, Manifest};
use sm::Sm;

/// Effort, of 9: what is above it takes longer and saves nothing here.
const LEVEL: u32 = 6;

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
    let mut table = String::new();
    for (index, family) in manifest.family.iter().enumerate() {
        let name = format!("images.{index}.bin");
        let plain = family.image.iter().map(|image| plain(folder, image));
        let plain: Vec<u8> = plain.collect::<Result<Vec<_>, _>>()?.concat();
        let dictionary = u32::try_from(plain.len().next_multiple_of(1 << 16))?;
        fs::write(out.join(&name), packed(&plain, dictionary)?)?;
        writeln!(
            table,
            "static PACK_{index}: Pack = Pack {{ packed: include_bytes!({name:?}), dictionary: {dictionary} }};"
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
    Ok(fs::write(out.join("images.rs"), table + "];\n")?)
}

fn packed(plain: &[u8], dictionary: u32) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut options = Lzma2Options::with_preset(LEVEL);
    options.lzma_options.dict_size = dictionary;
    let mut writer = Lzma2Writer::new(Vec::new(), options);
    writer.write_all(plain)?;
    Ok(writer.finish()?)
}

/// The file of an image.
fn plain(folder: &Path, image: &Image) -> Result<Vec<u8>, String> {
    let path = folder.join(&image.file);
    let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    if bytes.len() != image.bytes {
        let (name, found) = (path.display(), bytes.len());
        return Err(format!(
            "{name} has {found} bytes, the manifest says {}: run forge",
            image.bytes
        ));
    }
    Ok(bytes)
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
