//! The manifest as text: one line per image head field, one per kernel, in a fixed order, so that a rebuild changes what changed.

use std::fmt::{self, Write};

use crate::manifest::{Entry, Family, Image, Kind, Manifest, Usage};

const HEAD: &str = "# What build-kernels built from kernels/cuda; `cargo run -p build-kernels` writes it anew.
# usage: registers per thread, bytes of static shared memory per block, bytes of stack and bytes spilled per thread, barriers per block.
# oldest_driver, Linux: of cubins CUDA's minor version compatibility and the release that brought the target; of PTX the release that brought its version.
";

/// The file.
pub(crate) fn text(manifest: &Manifest) -> String {
    let mut text = String::from(HEAD);
    write_all(&mut text, manifest).expect("a String takes everything");
    text
}

fn write_all(text: &mut String, manifest: &Manifest) -> fmt::Result {
    writeln!(text, "compiler = {:?}", manifest.compiler)?;
    writeln!(text, "assembler = {:?}", manifest.assembler)?;
    manifest.family.iter().try_for_each(|family| write_family(text, family))
}

fn write_family(text: &mut String, family: &Family) -> fmt::Result {
    writeln!(text, "\n[[family]]\nname = {:?}", family.name)?;
    for (name, sha256) in &family.sources {
        writeln!(text, "sources.{name:?} = {sha256:?}")?;
    }
    family.image.iter().try_for_each(|image| write_image(text, image))
}

fn write_image(text: &mut String, image: &Image) -> fmt::Result {
    let kind = match image.kind {
        Kind::Cubin => "cubin",
        Kind::Ptx => "ptx",
    };
    writeln!(text, "\n[[family.image]]\nfile = {:?}\nkind = {kind:?}", image.file)?;
    writeln!(text, "target = \"{}\"\nclass = \"{}\"", image.target, image.class)?;
    writeln!(text, "isa = {:?}", image.isa)?;
    if !image.also_assembled_by.is_empty() {
        writeln!(text, "also_assembled_by = {:?}", image.also_assembled_by)?;
    }
    writeln!(text, "sha256 = {:?}\nbytes = {}", image.sha256, image.bytes)?;
    writeln!(text, "oldest_cuda = {:?}", image.oldest_cuda)?;
    writeln!(text, "oldest_driver = {:?}", image.oldest_driver)?;
    image.entry.iter().try_for_each(|(name, entry)| write_entry(text, name, entry))
}

fn write_entry(text: &mut String, name: &str, entry: &Entry) -> fmt::Result {
    let mut parts = Vec::new();
    parts.extend(entry.threads.map(|threads| format!("threads = {threads}")));
    parts.extend(entry.usage.map(|usage| {
        let Usage { registers, shared, stack, spills, barriers } = usage;
        format!("usage = [{registers}, {shared}, {stack}, {spills}, {barriers}]")
    }));
    let parts = if parts.is_empty() { String::new() } else { format!(" {} ", parts.join(", ")) };
    writeln!(text, "entry.{name} = {{{parts}}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let usage = Usage { registers: 32, shared: 128, stack: 0, spills: 0, barriers: 1 };
        let kernels = [
            ("plain".to_owned(), Entry::default()),
            ("full".to_owned(), Entry { threads: Some(256), usage: Some(usage) }),
        ];
        let image = Image {
            file: "g.sm_90a.cubin".to_owned(),
            kind: Kind::Cubin,
            target: "sm_90a".parse().unwrap(),
            class: "sm_80".parse().unwrap(),
            isa: "7.0".to_owned(),
            also_assembled_by: vec!["ptxas 11.8.89".to_owned()],
            sha256: "00ff".to_owned(),
            bytes: 12,
            oldest_cuda: "12.0".to_owned(),
            oldest_driver: "525.60.13".to_owned(),
            entry: kernels.into(),
        };
        let sources = [("g.cu".to_owned(), "11".to_owned())].into();
        let family = Family { name: "g".to_owned(), sources, image: vec![image] };
        let manifest = Manifest {
            compiler: "NVRTC 12.9.86".to_owned(),
            assembler: "ptxas 12.9.86".to_owned(),
            family: vec![family],
        };
        assert_eq!(toml::from_str::<Manifest>(&text(&manifest)), Ok(manifest));
    }
}
