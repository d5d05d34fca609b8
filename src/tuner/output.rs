//! The parsed output of one run of a candidate.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::invalid::{Fault, Invalid};
use crate::runs::samples::{Found, Point, Scan};

/// Longest excerpt of a program's output that is shown.
const SHOWN: usize = 120;

/// Prefixes of lines with a wrong result and with compiler errors, the latter as a JSON string.
pub(super) const WRONG: &str = "wrong=";
pub(super) const COMPILE: &str = "compile=";
/// Prefix of a line without a time: a simulated device computed.
pub(super) const UNTIMED: &str = "untimed ";

/// Measurements of one run, and what it reports about its result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ParsedOutput {
    /// Times of its samples, nanoseconds.
    pub times: Vec<f64>,
    /// Clock of each sample, MHz; as many as times, or none.
    pub sm_mhz: Vec<f64>,
    /// Largest error it reports, without its sign.
    pub error: Option<f64>,
    /// Checksums it reports, in order.
    pub checksums: Vec<f64>,
    /// Floating-point operations of one sample.
    pub flops: Option<f64>,
    /// Bytes of one sample.
    pub bytes: Option<f64>,
    /// Other numbers on its lines: `energy_j=0.21`; the last of each.
    pub numbers: BTreeMap<String, f64>,
    /// Device it ran on.
    pub device: Option<String>,
    /// Samples that are not to be judged; not among its times.
    pub tainted: Vec<Tainted>,
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Local memory of a thread, bytes: what was spilled, and arrays that are indexed.
    pub local_bytes: Option<u32>,
    /// Library of the vendor's that does the same work: `cuBLAS-12.4.1`.
    pub vendor: Option<String>,
    /// Times of its samples, taken in turn with the program's own, nanoseconds.
    pub vendor_times: Vec<f64>,
    /// Bytes per second the device read in the same run.
    pub roof_bytes_per_s: Option<f64>,
    /// Operations per second it did.
    pub roof_flop_per_s: Option<f64>,
    /// What is wrong with it, where the program reports that itself.
    pub invalid: Option<Invalid>,
    /// How much of the result was compared, where that is not all of it: `64/4096`.
    pub compared: Option<String>,
    /// Whether it was correct and has no time: a simulated device computed.
    pub untimed: bool,
}

/// Samples that are kept and not judged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tainted {
    /// Their times, nanoseconds.
    pub times: Vec<f64>,
    /// Clocks, MHz, as their line has them.
    pub sm_mhz: Vec<f64>,
    /// Why they are not judged: `throttled`.
    pub why: Vec<String>,
}

/// Parses what a program printed. `Err` says why the run is unusable; lines meant for people are skipped.
pub fn read_output(text: &str) -> Result<ParsedOutput, String> {
    let mut said = ParsedOutput::default();
    let mut scan = Scan::default();
    let mut name: Option<String> = None;
    for line in text.lines() {
        if let Some(sums) = line.trim().strip_prefix("checksum=") {
            said.checksums.extend(numbers("checksum", sums)?);
            continue;
        }
        if let Some(invalid) = invalid(line.trim()) {
            said.invalid = Some(invalid);
            continue;
        }
        if let Some(words) = line.trim().strip_prefix(UNTIMED) {
            said.take_untimed(words)?;
            continue;
        }
        for found in scan.take(line) {
            match found {
                Found::Point(point) => {
                    if let Some(other) = name.replace(point.key.name.clone())
                        && other != point.key.name
                    {
                        let names = format!("{other:?} and {:?}", point.key.name);
                        return Err(format!("its lines name two kernels, {}", short(&names)));
                    }
                    said.take(*point)?;
                }
                Found::Damaged(why) => {
                    return Err(format!("a line is not a measurement: {}", short(&why)));
                }
                Found::Remark(_) => {}
            }
        }
    }
    Ok(said)
}

impl ParsedOutput {
    /// Adds the output of another run of the same candidate.
    pub fn join(&mut self, mut other: Self) {
        let clocked = self.is_clocked() && other.is_clocked();
        self.times.append(&mut other.times);
        if clocked {
            self.sm_mhz.append(&mut other.sm_mhz);
        } else {
            self.sm_mhz.clear();
        }
        self.see_error(other.error);
        self.flops = other.flops.or(self.flops);
        self.bytes = other.bytes.or(self.bytes);
        self.numbers.append(&mut other.numbers);
        self.device = other.device.or(self.device.take());
        self.checksums = other.checksums;
        self.registers = other.registers.or(self.registers);
        self.vendor = other.vendor.or(self.vendor.take());
        self.vendor_times.append(&mut other.vendor_times);
        self.roof_bytes_per_s = other.roof_bytes_per_s.or(self.roof_bytes_per_s);
        self.roof_flop_per_s = other.roof_flop_per_s.or(self.roof_flop_per_s);
        self.local_bytes = other.local_bytes.or(self.local_bytes);
        self.invalid = other.invalid.or(self.invalid.take());
        self.compared = other.compared.or(self.compared.take());
        self.untimed |= other.untimed;
        self.tainted.append(&mut other.tainted);
    }

    /// Number of its samples, tainted ones too.
    pub fn samples(&self) -> usize {
        self.times.len() + self.tainted.iter().map(|one| one.times.len()).sum::<usize>()
    }

    /// Why samples are left out, each reason once.
    pub fn taints(&self) -> BTreeSet<&str> {
        self.tainted.iter().flat_map(|one| &one.why).map(String::as_str).collect()
    }

    fn is_clocked(&self) -> bool {
        self.sm_mhz.len() == self.times.len()
    }

    /// Keeps the larger error; `max` would drop NaN, and NaN is the worst of all.
    fn see_error(&mut self, error: Option<f64>) {
        let Some(error) = error.map(f64::abs) else { return };
        if self.error.is_none_or(|worst| error.is_nan() || error > worst) {
            self.error = Some(error);
        }
    }

    /// Words beside the measurement: what the kernel takes, and what it is held against.
    fn take_more(&mut self, words: &mut BTreeMap<String, String>) -> Result<(), String> {
        let mut count = |name: &str| {
            let Some(text) = words.remove(name) else { return Ok(None) };
            text.parse().map(Some).map_err(|_| format!("{name}={} is not a number", short(&text)))
        };
        (self.registers, self.local_bytes) = (count("registers")?, count("local_bytes")?);
        let mut all = |name: &str| {
            let found = words.remove(name).map_or(Ok(Vec::new()), |text| numbers(name, &text))?;
            match found.iter().find(|value| !value.is_finite() || **value <= 0.0) {
                Some(bad) => Err(format!("{name}={bad} cannot be")),
                None => Ok(found),
            }
        };
        self.vendor_times = all("vendor_ns")?;
        self.roof_bytes_per_s = all("roof_bytes_per_s")?.pop();
        self.roof_flop_per_s = all("roof_flop_per_s")?.pop();
        self.compared = words.remove("compared").map(|text| short(&text));
        self.vendor = words.remove("vendor").map(|text| short(&text));
        Ok(())
    }

    /// Words of a line without a time.
    fn take_untimed(&mut self, line: &str) -> Result<(), String> {
        let words = line.split_whitespace().filter_map(|word| word.split_once('='));
        let mut words: BTreeMap<String, String> =
            words.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let mut said = Self { untimed: true, ..Self::default() };
        for error in words.remove("error").map_or(Ok(Vec::new()), |text| numbers("error", &text))? {
            said.see_error(Some(error));
        }
        said.device = words.remove("device");
        said.take_more(&mut words)?;
        self.join(said);
        Ok(())
    }

    fn take(&mut self, mut point: Point) -> Result<(), String> {
        let shape = &mut point.key.shape.0;
        let mut said = Self { checksums: std::mem::take(&mut self.checksums), ..Self::default() };
        for error in shape.remove("error").map_or(Ok(Vec::new()), |text| numbers("error", &text))? {
            said.see_error(Some(error));
        }
        if let Some(text) = shape.remove("checksum") {
            said.checksums.extend(numbers("checksum", &text)?);
        }
        said.take_more(shape)?;
        let number = |(name, text): (&String, &String)| Some((name.clone(), text.parse().ok()?));
        said.numbers = shape.iter().filter_map(number).collect();
        let (times, sm_mhz, why) = (point.t_ns, point.sm_mhz, point.tainted);
        if why.is_empty() {
            (said.times, said.sm_mhz) = (times, sm_mhz);
        } else {
            said.tainted.push(Tainted { times, sm_mhz, why });
        }
        (said.flops, said.bytes) = (point.flops, point.bytes);
        said.device = point.key.device;
        self.join(said);
        Ok(())
    }
}

/// The error a line reports.
fn invalid(line: &str) -> Option<Invalid> {
    if let Some(why) = line.strip_prefix(WRONG) {
        return Some(Invalid { fault: Fault::Correctness, why: short(why) });
    }
    let why = serde_json::from_str(line.strip_prefix(COMPILE)?).ok()?;
    Some(Invalid { fault: Fault::Compile, why })
}

/// NaN and infinities are numbers here: a wrong kernel prints them.
fn numbers(what: &str, text: &str) -> Result<Vec<f64>, String> {
    let one = |word: &str| {
        word.trim().parse().map_err(|_| format!("{what}={} is not a number", short(word)))
    };
    text.split(',').map(one).collect()
}

fn short(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_errors_and_checksums_are_found_among_prose() {
        let text = "warming up\nname=sum n=8 t_us=1,2 error=1e-6 flops=16\nchecksum=36\n{\"name\":\"sum\",\"t_ns\":[5],\"error\":2e-6,\"checksum\":[1,2]}\n";
        let said = read_output(text).expect("reads");
        assert_eq!(said.times, [1000.0, 2000.0, 5.0]);
        assert_eq!((said.error, said.flops), (Some(2e-6), Some(16.0)));
        assert_eq!(said.checksums, [36.0, 1.0, 2.0]);
        assert_eq!(read_output("nothing\n"), Ok(ParsedOutput::default()));
    }

    #[test]
    fn an_error_that_is_no_number_is_the_worst() {
        for text in ["name=a t_us=1 error=nan\nname=a t_us=1 error=1", "name=a t_us=1 error=1,NaN"]
        {
            assert!(read_output(text).expect("reads").error.is_some_and(f64::is_nan), "{text}");
        }
    }

    #[test]
    fn errors_count_by_their_size() {
        for text in ["name=a t_us=1 error=-5", "name=a t_us=1 error=1,-5,-2", "untimed error=-5"] {
            assert_eq!(read_output(text).expect("reads").error, Some(5.0), "{text}");
        }
    }

    #[test]
    fn tainted_samples_are_kept_apart() {
        let text = "name=a t_us=1,2 sm_mhz=1500,1500\nname=a t_us=9 sm_mhz=700 tainted=throttled\nname=a t_us=3 sm_mhz=1500";
        let said = read_output(text).expect("reads");
        assert_eq!((&said.times[..], said.sm_mhz.len()), (&[1000.0, 2000.0, 3000.0][..], 3));
        let tainted =
            Tainted { times: vec![9000.0], sm_mhz: vec![700.0], why: vec!["throttled".into()] };
        assert_eq!((said.samples(), &said.tainted[..]), (4, &[tainted][..]));
        assert_eq!(said.taints(), BTreeSet::from(["throttled"]));
    }

    #[test]
    fn lines_that_contradict_are_no_measurement() {
        for (text, why) in [
            ("name=a t_us=1\nname=b t_us=1", "two kernels"),
            ("name=a t_us=-1", "not a measurement"),
            ("name=a t_us=1 error=small", "error=small"),
            ("checksum=x", "checksum=x"),
        ] {
            let error = read_output(text).expect_err(why);
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn clocks_are_kept_only_where_every_sample_has_one() {
        let said = read_output("name=a t_us=1 sm_mhz=1500\nname=a t_us=1").expect("reads");
        assert!(said.sm_mhz.is_empty() && said.times.len() == 2);
    }

    #[test]
    fn registers_faults_and_what_has_no_time_are_read() {
        let said = read_output("name=a t_us=1 registers=40 local_bytes=16").expect("reads");
        assert_eq!((said.registers, said.local_bytes, said.untimed), (Some(40), Some(16), false));
        let line = "name=a t_us=1 vendor=cuBLAS-12.4 vendor_ns=900,1100 roof_bytes_per_s=1e12";
        let said = read_output(line).expect("reads");
        assert_eq!((said.vendor_times, said.roof_bytes_per_s), (vec![900.0, 1100.0], Some(1e12)));
        assert!(read_output("name=a t_us=1 vendor_ns=0").is_err());
        let said = read_output("untimed name=a device=GPU-1 error=1e-4 n=3").expect("reads");
        assert!(said.untimed && said.times.is_empty());
        assert_eq!((said.error, said.device.as_deref()), (Some(1e-4), Some("GPU-1")));
        let said = read_output("wrong=it wrote before x").expect("reads");
        let wrong = |fault, why: &str| Some(Invalid { fault, why: why.to_owned() });
        assert_eq!(said.invalid, wrong(Fault::Correctness, "it wrote before x"));
        let said = read_output("compile=\"k.cu(3): error\\nmore\"").expect("reads");
        assert_eq!(said.invalid, wrong(Fault::Compile, "k.cu(3): error\nmore"));
        assert!(read_output("name=a t_us=1 registers=many").is_err());
    }
}
