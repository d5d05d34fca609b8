//! What a program said in one run.

use crate::bench::points::{Found, Point, Scan};

/// Longest word of a program that is shown.
const SHOWN: usize = 120;

/// Measurements of one run, and what it says of its result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    /// Times of its samples, nanoseconds.
    pub times: Vec<f64>,
    /// Clock of each sample, MHz; as many as times, or none.
    pub sm_mhz: Vec<f64>,
    /// Largest error it tells.
    pub error: Option<f64>,
    /// Checksums it tells, in order.
    pub checksums: Vec<f64>,
    /// Floating-point operations of one sample.
    pub flops: Option<f64>,
    /// Bytes of one sample.
    pub bytes: Option<f64>,
    /// Device it ran on.
    pub device: Option<String>,
    /// Why its samples are not to be judged.
    pub tainted: Vec<String>,
}

/// Reads what a program printed. `Err` says what makes the run worthless; lines that are meant for people are not looked at.
pub fn read_output(text: &str) -> Result<Said, String> {
    let mut said = Said::default();
    let mut scan = Scan::default();
    let mut name: Option<String> = None;
    for line in text.lines() {
        if let Some(sums) = line.trim().strip_prefix("checksum=") {
            said.checksums.extend(numbers("checksum", sums)?);
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
                    return Err(format!("a line of it is no point: {}", short(&why)));
                }
                Found::Remark(_) => {}
            }
        }
    }
    Ok(said)
}

impl Said {
    /// Adds what another run of the same candidate said.
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
        self.device = other.device.or(self.device.take());
        self.checksums = other.checksums;
        for why in other.tainted {
            if !self.tainted.contains(&why) {
                self.tainted.push(why);
            }
        }
    }

    fn is_clocked(&self) -> bool {
        self.sm_mhz.len() == self.times.len()
    }

    /// Keeps the larger error; `max` would drop NaN, and NaN is the worst of all.
    fn see_error(&mut self, error: Option<f64>) {
        let Some(error) = error else { return };
        if self.error.is_none_or(|worst| error.is_nan() || error > worst) {
            self.error = Some(error);
        }
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
        said.times = point.t_ns;
        said.sm_mhz = point.sm_mhz;
        (said.flops, said.bytes) = (point.flops, point.bytes);
        said.device = point.key.device;
        said.tainted = point.tainted;
        self.join(said);
        Ok(())
    }
}

/// NaN and infinities are numbers here: they are what a wrong kernel tells.
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
        assert_eq!(read_output("nothing\n"), Ok(Said::default()));
    }

    #[test]
    fn an_error_that_is_no_number_is_the_worst() {
        for text in ["name=a t_us=1 error=nan\nname=a t_us=1 error=1", "name=a t_us=1 error=1,NaN"]
        {
            assert!(read_output(text).expect("reads").error.is_some_and(f64::is_nan), "{text}");
        }
    }

    #[test]
    fn lines_that_contradict_are_no_measurement() {
        for (text, why) in [
            ("name=a t_us=1\nname=b t_us=1", "two kernels"),
            ("name=a t_us=-1", "no point"),
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
}
