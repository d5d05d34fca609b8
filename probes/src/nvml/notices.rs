//! What the user should know of a device that no value of it shows.

use std::time::Duration;

use super::session::MOST_GPUS;
use super::slot::Slot;
use crate::gpu::Presence;
use crate::notice::{Notice, Severity};
use crate::xid;

/// Everything there is to say of one device.
pub(super) fn about(slot: &Slot, others_live: bool) -> Vec<Notice> {
    let state = match slot.gpu.presence {
        Presence::Lost => Some(lost(slot)),
        _ => slot.is_late().then(|| late(slot, others_live)),
    };
    state.into_iter().chain(too_many(slot)).collect()
}

/// It fell off the bus.
fn lost(slot: &Slot) -> Notice {
    let newest = slot.gpu.xids.last();
    let why = newest.map(|one| format!(" ({})", xid::words(one.xid))).unwrap_or_default();
    Notice {
        id: "gpu.lost".to_owned(),
        severity: Severity::Error,
        what: format!("{} is lost: the driver can no longer reach it{why}.", called(slot)),
        remedy: "Look for its Xid with: sudo dmesg | grep -i xid; a reboot, or a power cycle, brings it back.".to_owned(),
    }
}

/// It does not answer, while the driver does.
fn late(slot: &Slot, others_live: bool) -> Notice {
    const SLOW: Duration = Duration::from_secs(10);
    let silence = match (slot.silence(), slot.asked.as_secs()) {
        (Some(silence), _) if silence < SLOW => "answers slowly".to_owned(),
        (Some(silence), _) => format!("has not answered for {} s", silence.as_secs()),
        (None, 0) => "does not answer".to_owned(),
        (None, seconds) => format!("has not answered for {seconds} s"),
    };
    let others = if others_live { "; the others are live" } else { "" };
    Notice {
        id: "gpu.late".to_owned(),
        severity: Severity::Warning,
        what: format!("{} {silence}{others}.", called(slot)),
        remedy: "A GPU takes seconds to start without persistence mode (nvidia-smi -pm 1); if it stays so, look for its Xid \
                 with: sudo dmesg | grep -i xid"
            .to_owned(),
    }
}

/// The driver counts more of something than a device can have.
fn too_many(slot: &Slot) -> Option<Notice> {
    let claims = slot.claims();
    let counts: Vec<_> = claims
        .iter()
        .map(|it| format!("{} {} (at most {} are read)", it.count, it.what, it.most))
        .collect();
    (!claims.is_empty()).then(|| implausible(&called(slot), &counts.join(", ")))
}

/// The driver counts more devices than a machine can have.
pub(super) fn too_many_gpus(claimed: u32) -> Option<Notice> {
    let counts = format!("{claimed} GPUs (at most {MOST_GPUS} are read)");
    (claimed > MOST_GPUS).then(|| implausible("NVML", &counts))
}

fn implausible(who: &str, counts: &str) -> Notice {
    Notice {
        id: "driver.implausible".to_owned(),
        severity: Severity::Warning,
        what: format!("{who}: the driver counts {counts}."),
        remedy: "Such counts mean a damaged or foreign libnvidia-ml.so.1: see which one is loaded with: ldconfig -p | grep nvidia-ml; \
                 and install the driver again"
            .to_owned(),
    }
}

/// What messages call a device: its number, and its name where known.
fn called(slot: &Slot) -> String {
    let index = slot.gpu.index;
    let name = slot.gpu.identity.name.last();
    name.map_or_else(|| format!("GPU {index}"), |name| format!("GPU {index} {name}"))
}
