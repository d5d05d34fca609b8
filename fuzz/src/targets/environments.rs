//! Container images and what is installed in them. An environment is put into an image, so that no input touches the disk.

use std::path::Path;

use warpscope_probes::inspect::env::{Image, Progress, read_image, stream_image};

use crate::Trace;
use crate::archive::{image as image_of, mend, put, sections};
use crate::runner::scratch;

/// A whole archive: of `docker save` or in OCI's layout. Every other input gets right checksums, to come past them.
pub(super) fn image(bytes: &[u8], trace: &mut Trace) {
    let mut bytes = bytes.to_vec();
    if bytes.len().is_multiple_of(2) {
        mend(&mut bytes);
    }
    read(&bytes, trace);
}

/// One layer, packed or not.
pub(super) fn layer(bytes: &[u8], trace: &mut Trace) {
    let mut bytes = bytes.to_vec();
    if bytes.len().is_multiple_of(2) && !bytes.starts_with(&[0x1f, 0x8b]) {
        mend(&mut bytes);
    }
    read(&image_of(&bytes), trace);
}

/// Files of an environment, each behind a line `@@ PATH`: metadata of packages, libraries, the loader's cache.
pub(super) fn environment(bytes: &[u8], trace: &mut Trace) {
    let mut layer = Vec::new();
    for (name, contents) in sections(bytes) {
        put(&mut layer, name, contents);
    }
    read(&image_of(&layer), trace);
}

fn read(bytes: &[u8], trace: &mut Trace) {
    let path = scratch::file("image.tar", bytes);
    let result = read_image(&path, &mut Progress::silent());
    trace.result(&result);
    let Ok(image) = result else { return };
    for environment in &image.inventory.environments {
        trace.value(environment);
    }
    trace.value(&image.inventory.unreadable);
    trace.count("files", image.files.len());
    let json = serde_json::to_string(&image).expect("an image can be written");
    assert!(json.len() <= 20_000 + 64 * bytes.len(), "{} from {}", json.len(), bytes.len());
    assert_eq!(serde_json::from_str::<Image>(&json).expect("reads back"), image);
    stream(&path, &image, trace);
}

/// Streams every binary of the image. A layer that is damaged is named, as it was in the first pass.
fn stream(path: &Path, image: &Image, trace: &mut Trace) {
    let mut streamed = 0;
    let mut each = |_: &_, contents: &mut dyn std::io::Read| {
        streamed += 1;
        let _ = std::io::copy(contents, &mut std::io::sink());
    };
    let result = stream_image(path, image, &image.files, &mut each, &mut Progress::silent());
    assert!(streamed <= image.files.len());
    trace.result(&result);
}
