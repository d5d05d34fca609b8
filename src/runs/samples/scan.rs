//! Points among the lines a program prints for people.
//!
//! Only lines that are points in full are taken: a tool's prose is never guessed at. Parsers for one tool are asked for by name, because
//! their lines could mean something else elsewhere.

use regex_lite::Regex;

use super::gather::number;
use super::{Point, parse_line};

/// Tools whose lines can be asked for.
pub const PARSERS: &[&str] = &["triton", "vllm"];

/// Longest text a line leaves as a remark.
const MAX_REMARK: usize = 2000;

/// What a line held.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// A measurement.
    Point(Box<Point>),
    /// A remark worth keeping beside the measurements.
    Remark(String),
    /// It was meant as a point, and is none.
    Damaged(String),
}

/// Which lines are looked for.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    triton: Option<Triton>,
    vllm: bool,
    pattern: Option<Regex>,
}

impl Scan {
    /// Lines of warpscope's own, those of the named tools, and those a pattern finds. The pattern names groups: `name` or none, one of
    /// `t_ns`, `t_us`, `t_ms`, `t_s`, `per_s`, and anything else a line of points may hold.
    pub fn new(parsers: &[String], pattern: Option<&str>) -> Result<Self, String> {
        let asked = |name: &str| parsers.iter().any(|one| one == name);
        let pattern = pattern.map(compile).transpose()?;
        Ok(Self { triton: asked("triton").then(Triton::default), vllm: asked("vllm"), pattern })
    }

    /// Whether more than lines of warpscope's own is looked for.
    pub fn is_asked(&self) -> bool {
        self.triton.is_some() || self.vllm || self.pattern.is_some()
    }

    /// Looks into one line of a program's output.
    pub fn take(&mut self, line: &str) -> Vec<Found> {
        let line = line.trim();
        if is_own(line) {
            return vec![Self::only(line)];
        }
        let mut found = Vec::new();
        if let Some(triton) = &mut self.triton {
            found.extend(triton.take(line).map(Found::Remark));
        }
        if self.vllm {
            found.extend(vllm(line).into_iter().map(|point| Found::Point(Box::new(point))));
        }
        if let Some(pattern) = &self.pattern {
            found.extend(matched(pattern, line));
        }
        found
    }

    /// Reads a line that is there to be a point and for nothing else.
    pub fn only(line: &str) -> Found {
        match parse_line(line) {
            Ok(point) => Found::Point(Box::new(point)),
            Err(error) => Found::Damaged(error.to_string()),
        }
    }
}

/// Whether a line is meant as a point of warpscope's own: it names something and a time.
fn is_own(line: &str) -> bool {
    const UNITS: [&str; 4] = ["t_ns", "t_us", "t_ms", "t_s"];
    if line.starts_with('{') {
        return line.contains("\"name\"")
            && UNITS.iter().any(|unit| line.contains(&format!("\"{unit}\"")));
    }
    let names = |name: &str| line.split_whitespace().any(|word| word.starts_with(name));
    line.starts_with("name=") && UNITS.iter().any(|unit| names(&format!("{unit}=")))
}

/// Names a time may have in a pattern; `per_s` is a rate.
const TIMES: &[&str] = &["t_ns", "t_us", "t_ms", "t_s", "per_s"];

fn compile(text: &str) -> Result<Regex, String> {
    let pattern = Regex::new(text).map_err(|error| format!("--pattern: {error}"))?;
    let names = pattern.capture_names().flatten();
    if names.clone().any(|name| TIMES.contains(&name)) {
        return Ok(pattern);
    }
    Err(format!(
        "--pattern {text:?} names no time: write (?<t_us>[0-9.]+), or t_ns, t_ms, t_s, per_s"
    ))
}

/// What the groups hold is written as a line of points and read as one: same checks, same limits. Thousands may be separated by commas.
fn matched(pattern: &Regex, line: &str) -> Option<Found> {
    let groups = pattern.captures(line)?;
    let mut words = Vec::new();
    for name in pattern.capture_names().flatten() {
        let Some(value) = groups.name(name).map(|group| group.as_str().trim()) else { continue };
        let value: String = value.split_whitespace().collect::<Vec<_>>().join("_");
        if name == "per_s" {
            let Some(rate) = number(&value) else {
                return Some(Found::Damaged(format!("per_s {value:?} is not a rate")));
            };
            words.push(format!("t_ns={}", 1e9 / rate));
        } else if let Some(time) = number(&value).filter(|_| TIMES.contains(&name)) {
            words.push(format!("{name}={time}"));
        } else if !value.is_empty() {
            words.push(format!("{name}={value}"));
        }
    }
    if !words.iter().any(|word| word.starts_with("name=")) {
        words.push("name=pattern".to_owned());
    }
    Some(Scan::only(&words.join(" ")))
}

/// The choice of Triton's autotuner, in one line or, with its key, in several.
#[derive(Clone, Debug, Default)]
struct Triton {
    function: Option<String>,
    lines: u8,
}

impl Triton {
    const START: &str = "Triton autotuning for function ";
    const CHOICE: &str = "best config selected:";
    /// Lines a choice may be spread over.
    const LINES: u8 = 4;

    fn take(&mut self, line: &str) -> Option<String> {
        if let Some(at) = line.find(Self::START) {
            let rest = &line[at + Self::START.len()..];
            let end = rest.find([',', ' ']).unwrap_or(rest.len());
            self.function = Some(rest[..end].to_owned());
            self.lines = 0;
        }
        let function = self.function.as_deref()?;
        self.lines += 1;
        if let Some((_, choice)) = line.split_once(Self::CHOICE) {
            let choice = choice.trim().trim_end_matches(';');
            let remark = format!("triton chose for {function}: {choice}");
            self.function = None;
            return Some(remark.chars().take(MAX_REMARK).collect());
        }
        if self.lines >= Self::LINES {
            self.function = None;
        }
        None
    }
}

/// `Throughput: 7.25 requests/s, 2970.12 total tokens/s, 1450.01 output tokens/s`. A rate becomes the time of one.
fn vllm(line: &str) -> Vec<Point> {
    const UNITS: &[(&str, &str)] = &[
        ("requests/s", "vllm.request"),
        ("total tokens/s", "vllm.token"),
        ("tokens/s", "vllm.token"),
        ("output tokens/s", "vllm.output_token"),
    ];
    let Some((_, rates)) = line.split_once("Throughput: ") else { return Vec::new() };
    let point = |part: &str| {
        let (rate, unit) = part.trim().split_once(' ')?;
        let (_, name) = UNITS.iter().find(|row| row.0 == unit.trim())?;
        let rate: f64 = rate.parse().ok()?;
        let ns = 1e9 / rate;
        let mut point = Point { t_ns: vec![ns], ..Point::default() };
        point.key.name = (*name).to_owned();
        (ns.is_finite() && ns > 0.0).then_some(point)
    };
    rates.split(", ").filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(parsers: &[&str], pattern: Option<&str>, lines: &[&str]) -> Vec<Found> {
        let parsers: Vec<String> = parsers.iter().map(|one| (*one).to_owned()).collect();
        let mut scan = Scan::new(&parsers, pattern).expect("a pattern");
        lines.iter().flat_map(|line| scan.take(line)).collect()
    }

    fn points(found: &[Found]) -> Vec<(String, f64)> {
        let point = |one: &Found| match one {
            Found::Point(point) => (point.key.to_string(), point.t_ns[0]),
            other => panic!("{other:?}"),
        };
        found.iter().map(point).collect()
    }

    #[test]
    fn own_lines_are_found_among_prose() {
        let lines = [
            "warming up",
            "  name=gemm m=16 t_us=2 ",
            "{\"name\":\"gemv\",\"t_ns\":[5]}",
            "{\"loss\":0.1}",
            "{\"name\":\"span\",\"start_time\":5}",
            "name=Alice",
        ];
        assert_eq!(
            points(&scan(&[], None, &lines)),
            [("gemm m=16".to_owned(), 2000.0), ("gemv".to_owned(), 5.0)]
        );
        let found = scan(&[], None, &["name=gemm t_us=soon"]);
        assert!(matches!(&found[..], [Found::Damaged(why)] if why.contains("soon")), "{found:?}");
    }

    /// What `python -m vllm.entrypoints… benchmark_throughput` prints, before and after output tokens were told apart.
    #[test]
    fn rates_of_vllm_become_times_of_one() {
        let lines = [
            "Throughput: 4.00 requests/s, 2000.00 total tokens/s, 500.00 output tokens/s",
            "INFO Throughput: 2.00 requests/s, 1000.00 tokens/s",
            "Throughput: 0.00 requests/s, nan tokens/s",
        ];
        let want = [
            ("vllm.request", 2.5e8),
            ("vllm.token", 5e5),
            ("vllm.output_token", 2e6),
            ("vllm.request", 5e8),
            ("vllm.token", 1e6),
        ];
        assert_eq!(
            points(&scan(&["vllm"], None, &lines)),
            want.map(|(name, ns)| (name.to_owned(), ns))
        );
        assert_eq!(scan(&[], None, &lines), []);
    }

    /// The forms of `TRITON_PRINT_AUTOTUNING=1` in Triton 2.x to 3.x.
    #[test]
    fn the_choice_of_triton_is_a_remark() {
        let lines = [
            "Triton autotuning for function add_kernel finished after 0.48s; best config selected: BLOCK_SIZE: 128, num_warps: 4;",
            "Triton autotuning for function mm,",
            "with key as (16, 'torch.float16'),",
            "finished after 0.48s,",
            "best config selected: BLOCK_M: 64;",
            "best config selected: stray;",
        ];
        let want = [
            "triton chose for add_kernel: BLOCK_SIZE: 128, num_warps: 4",
            "triton chose for mm: BLOCK_M: 64",
        ];
        assert_eq!(
            scan(&["triton"], None, &lines),
            want.map(|text| Found::Remark(text.to_owned()))
        );
    }

    #[test]
    fn a_pattern_names_what_it_finds() {
        let pattern = r"(?<name>\w+) took (?<t_ms>[0-9.]+) ms with tile (?<tile>.+)$";
        let lines = ["mm took 1.5 ms with tile 64 x 32", "mm took 0 ms with tile 1", "done"];
        let found = scan(&[], Some(pattern), &lines);
        assert_eq!(points(&found[..1]), [("mm tile=64_x_32".to_owned(), 1.5e6)]);
        assert!(matches!(&found[1..], [Found::Damaged(_)]), "{found:?}");
        let rate = scan(&[], Some(r"(?<per_s>[0-9,.]+) it/s"), &["2,000.0 it/s"]);
        assert_eq!(points(&rate), [("pattern".to_owned(), 5e5)]);
        for (line, times) in [("1,234.5 ms", &[1_234.5e6][..]), ("1.5,2.5 ms", &[1.5e6, 2.5e6])] {
            let found = scan(&[], Some(r"(?<t_ms>[0-9.,]+) ms"), &[line]);
            assert!(
                matches!(&found[..], [Found::Point(point)] if point.t_ns == times),
                "{found:?}"
            );
        }
        for bad in ["(", "no groups", r"(?<speed>\d+)"] {
            let error = Scan::new(&[], Some(bad)).expect_err(bad);
            assert!(error.contains("--pattern"), "{error}");
        }
    }
}
