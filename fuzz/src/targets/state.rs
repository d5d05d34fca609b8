//! Files in which warpscope keeps what it found out about a machine.

use std::fs;

use warpscope::runs::noise::Noise;
use warpscope::worker::tuning::TuningCache;
use warpscope_probes::inspect::binary::Scan;
use warpscope_probes::live::Store;

use crate::Trace;
use crate::runner::scratch;

/// A device as the stored file names it.
const UUID: &str = "GPU-0";
const DRIVER: &str = "580.65";

pub(super) fn tuned(bytes: &[u8], trace: &mut Trace) {
    let result = TuningCache::parse(&String::from_utf8_lossy(bytes));
    trace.result(&result);
    let Ok(cache) = result else { return };
    let text = serde_json::to_string(&cache).expect("a cache can be written");
    assert_eq!(TuningCache::parse(&text).as_ref(), Ok(&cache), "{text}");
    for entry in &cache.entries {
        trace.value(&cache.lookup(&entry.situation));
        trace.count("overruled", entry.overruled());
        trace.value(&entry.tuned());
    }
}

pub(super) fn noise(bytes: &[u8], trace: &mut Trace) {
    let result = Noise::parse(&String::from_utf8_lossy(bytes));
    trace.result(&result);
    if let Ok(noise) = result {
        let text = serde_json::to_string(&noise).expect("noise can be written");
        assert_eq!(Noise::parse(&text), Ok(noise), "{text}");
    }
}

/// What the cache of scans holds of one file.
pub(super) fn scan(bytes: &[u8], trace: &mut Trace) {
    let result = serde_json::from_slice::<Scan>(bytes);
    trace.result(&result);
    if let Ok(scan) = result {
        trace.value(&scan.summary());
        let text = serde_json::to_string(&scan).expect("a scan can be written");
        assert_eq!(serde_json::from_str::<Scan>(&text).ok().as_ref(), Some(&scan), "{text}");
    }
}

/// What probes found on a device. Keeping it again changes nothing.
pub(super) fn probes(bytes: &[u8], trace: &mut Trace) {
    let folder = scratch::folder("probes");
    fs::write(folder.join(format!("{UUID}.json")), bytes).expect("takes files");
    let store = Store::at(&folder);
    let found = store.read(UUID, Some(DRIVER));
    trace.value(&found);
    trace.count("reports", found.len());
    store.keep(UUID, Some(DRIVER), &found).expect("the scratch folder takes files");
    let mut again = store.read(UUID, Some(DRIVER));
    again.dedup_by(|a, b| a.id == b.id);
    assert!(again.len() <= found.len());
}
