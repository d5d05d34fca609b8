//! The images of a family as one LZMA2 stream, as they are committed and carried by the program.
//!
//! Images of a family are much alike, and further apart than the window of deflate reaches: LZMA makes them three times smaller than
//! each deflated by itself. All families in one stream would save another 5 % and take ten times as long to unpack.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;

use lzma_rust2::{Lzma2Options, Lzma2Reader, Lzma2Writer};

use crate::manifest::{Family, Manifest};

/// Effort, of 9: more takes longer and saves nothing here.
const LEVEL: u32 = 6;

/// Packs the images of a family, which lie as files in `folder`.
pub(crate) fn pack(folder: &Path, family: &Family) -> Result<Vec<u8>, String> {
    let files = family.image.iter().map(|image| read(&folder.join(&image.file)));
    let plain = files.collect::<Result<Vec<_>, _>>()?.concat();
    let mut options = Lzma2Options::with_preset(LEVEL);
    options.lzma_options.dict_size = family.dictionary();
    let mut writer = Lzma2Writer::new(Vec::new(), options);
    let written = writer.write_all(&plain).and_then(|()| writer.finish());
    written.map_err(|error| format!("{}: {error}", family.pack()))
}

/// Unpacks the images of every family of `packs` into files of `folder`. A family without a pack has none.
pub(crate) fn unpack(packs: &Path, manifest: &Manifest, folder: &Path) -> Result<(), String> {
    let packed = |family: &&Family| packs.join(family.pack()).exists();
    manifest
        .family
        .iter()
        .filter(packed)
        .try_for_each(|family| unpack_family(packs, family, folder))
}

fn unpack_family(packs: &Path, family: &Family, folder: &Path) -> Result<(), String> {
    let path = packs.join(family.pack());
    let packed = read(&path)?;
    let damaged = |error| format!("{}: {error}; run build-kernels {}", path.display(), family.name);
    let mut reader = Lzma2Reader::new(&packed[..], family.dictionary(), None);
    for image in &family.image {
        let mut bytes = vec![0; image.bytes];
        reader.read_exact(&mut bytes).map_err(damaged)?;
        let to = folder.join(&image.file);
        fs::write(&to, bytes).map_err(|error| format!("{}: {error}", to.display()))?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpacked_images_are_those_that_were_packed() {
        let text = "compiler = ''\nassembler = ''\n[[family]]\nname = 'g'\nsources = {}\n";
        let image = |file: &str, bytes: usize| {
            format!(
                "[[family.image]]\nfile = '{file}'\nkind = 'ptx'\ntarget = 'sm_60'\nclass = 'sm_60'\nisa = '5.0'\nsha256 = ''\n\
                 bytes = {bytes}\noldest_cuda = '8.0'\noldest_driver = '1'\nentry = {{}}\n"
            )
        };
        let text = format!("{text}{}{}", image("a.ptx", 5), image("b.ptx", 70_000));
        let manifest: Manifest = toml::from_str(&text).unwrap();
        let files = [("a.ptx", b"first".to_vec()), ("b.ptx", b"0123456".repeat(10_000))];
        let (built, packs, unpacked) = (
            tempfile::tempdir().unwrap(),
            tempfile::tempdir().unwrap(),
            tempfile::tempdir().unwrap(),
        );
        for (name, bytes) in &files {
            fs::write(built.path().join(name), bytes).unwrap();
        }
        let packed = pack(built.path(), &manifest.family[0]).unwrap();
        assert!(packed.len() < 1000, "{} bytes", packed.len());
        fs::write(packs.path().join("g.lzma2"), &packed).unwrap();
        unpack(packs.path(), &manifest, unpacked.path()).unwrap();
        for (name, bytes) in &files {
            assert_eq!(&fs::read(unpacked.path().join(name)).unwrap(), bytes, "{name}");
        }
        fs::write(packs.path().join("g.lzma2"), &packed[..packed.len() / 2]).unwrap();
        let error = unpack(packs.path(), &manifest, unpacked.path()).unwrap_err();
        assert!(error.contains("g.lzma2") && error.ends_with("run build-kernels g"), "{error}");
    }
}
