//! The binaries of an image. A layer can only be read forwards, and a binary has its table of contents at its end: each in turn goes
//! through a file without a name.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use warpscope_probes::inspect::EnvironmentScan;
use warpscope_probes::inspect::binary::{OnDisk, scan_source};
use warpscope_probes::inspect::env::{
    Image, ImageFile, Progress, Unreadable, read_image, stream_image,
};

use crate::commands::cli::{CliError, Result};

/// What is installed in an image, with the device code of its binaries.
pub(super) fn survey(path: &Path) -> Result<EnvironmentScan> {
    let usage = CliError::usage;
    let image = read_image(path, &mut Progress::silent()).map_err(usage)?;
    let mut survey = EnvironmentScan::default();
    let mut files = 0;
    let mut each = |file: &ImageFile, body: &mut dyn Read| {
        files += 1;
        match spool(body) {
            Ok(spooled) => survey.add(file.path.clone(), None, scan_source(&file.path, &spooled)),
            Err(error) => {
                let (path, reason) = (file.path.clone(), error.to_string());
                survey.unreadable.push(Unreadable { path, reason });
            }
        }
    };
    let layers = stream_image(path, &image, &image.files, &mut each, &mut Progress::silent());
    let layers = layers.map_err(usage)?;
    let failed = survey.unreadable.len();
    if let Some(one) = survey.unreadable.first().filter(|_| failed == files && layers.is_empty()) {
        return Err(no_room(path, &one.reason));
    }
    let Image { inventory, .. } = image;
    let known = |layer: &Unreadable| inventory.unreadable.iter().any(|one| one.path == layer.path);
    survey.unreadable.extend(layers.into_iter().filter(|layer| !known(layer)));
    survey.inventory = inventory;
    Ok(survey)
}

fn no_room(image: &Path, reason: &str) -> CliError {
    CliError::Failed(format!(
        "{}: its binaries cannot be copied to {} to be read ({reason}); set TMPDIR to a folder with room",
        image.display(),
        std::env::temp_dir().display()
    ))
}

/// Copies a stream into a file that has no name and is gone with the handle.
fn spool(body: &mut dyn Read) -> std::io::Result<OnDisk> {
    let mut options = File::options();
    options.read(true).write(true).custom_flags(libc::O_TMPFILE).mode(0o600);
    let mut file = options.open(std::env::temp_dir())?;
    std::io::copy(body, &mut file)?;
    OnDisk::new(file)
}
