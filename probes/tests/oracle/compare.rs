//! The scanner against `cuobjdump`, member by member of a wheel.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use warpscope_probes::inspect::binary::{Format, ImageKind, Scan, Shape, scan_file};

use crate::fetch;

/// Images by kind and target, as the tool prints them.
type Images = BTreeMap<String, u32>;

/// How a file came out.
pub(crate) enum Outcome {
    /// Both lists are the same, with and without what is left over from linking.
    Same,
    /// The tool lists what it finds in sections the same way, and misses what lies in plain data.
    MissesData(u32),
    /// The tool refuses the file.
    Refused(String),
    /// The lists differ, and nothing known explains it.
    Differs {
        /// What was found here.
        ours: Images,
        /// What the tool lists.
        theirs: Images,
    },
}

/// One file of a wheel.
pub(crate) struct Row {
    /// Its name in the wheel.
    pub(crate) member: String,
    /// Images found in its sections.
    pub(crate) images: u32,
    /// Which of the two tools read it.
    pub(crate) tool: usize,
    /// How it came out.
    pub(crate) outcome: Outcome,
}

impl Row {
    /// Whether nothing is left to explain.
    pub(crate) fn is_explained(&self) -> bool {
        !matches!(self.outcome, Outcome::Differs { .. })
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { member, images, tool, outcome } = self;
        let tool = ["13.5", "12.8"].get(*tool).copied().unwrap_or("-");
        let outcome = match outcome {
            Outcome::Same => "same".to_owned(),
            Outcome::MissesData(more) => {
                format!("same; {more} more kept as data, which it does not list")
            }
            Outcome::Refused(why) => format!("the tool refuses it: {why}"),
            Outcome::Differs { ours, theirs } => {
                format!("DIFFERS: here {ours:?}, there {theirs:?}")
            }
        };
        write!(f, "{images:>7}  {tool:>4}  {member}: {outcome}")
    }
}

/// Compares every binary of a wheel.
pub(crate) fn wheel(requirement: &str, tools: &[PathBuf; 2]) -> Result<(Scan, Vec<Row>), String> {
    let path = fetch::wheel(requirement)?;
    let scan = scan_file(&path).map_err(|error| error.to_string())?;
    let copy = fetch::folder().join(format!("member-{}", std::process::id()));
    let mut rows = Vec::new();
    // What ROCm, XPU and the like bring is Linux ELF too, and has no device code for either lister.
    for member in scan.members.iter().filter(|member| member.format != Format::Pe) {
        let name = member.path.to_string_lossy();
        let name = name.rsplit_once('!').map_or(&*name, |(_, name)| name).to_owned();
        let copy = copy.with_extension(Path::new(&name).extension().unwrap_or_default());
        fetch::extract(&path, &name, &copy)?;
        rows.push(row(name, member, &copy, tools));
        std::fs::remove_file(&copy).map_err(|error| error.to_string())?;
    }
    Ok((scan, rows))
}

fn row(member: String, scan: &Scan, file: &Path, tools: &[PathBuf; 2]) -> Row {
    let ours = [counted(&[&scan.executable]), counted(&[&scan.executable, &scan.relocatable])];
    let images = ours[0].values().sum();
    let mut why = String::new();
    for (tool, path) in tools.iter().enumerate() {
        let lists = [list(path, file, false), list(path, file, true)];
        let [Ok(found), Ok(all)] = lists else {
            why = lists.into_iter().find_map(Result::err).unwrap_or(why);
            continue;
        };
        let data: u32 = counted(&[&scan.data]).values().sum();
        let outcome = match (found == ours[0], all == ours[1]) {
            (true, true) if data > 0 => Outcome::MissesData(data),
            (true, true) => Outcome::Same,
            (false, _) => Outcome::Differs { ours: ours[0].clone(), theirs: found },
            (true, false) => Outcome::Differs { ours: ours[1].clone(), theirs: all },
        };
        return Row { member, images, tool, outcome };
    }
    Row { member, images, tool: tools.len(), outcome: Outcome::Refused(why) }
}

/// Machine code and text, in the words of the tool. It never prints the `f` of machine code, and lists no link-time code.
fn counted(lists: &[&[(Shape, u32)]]) -> Images {
    let mut sum = Images::new();
    for (shape, containers) in lists.iter().copied().flatten() {
        for (image, each) in &shape.0 {
            let name = match image.kind {
                ImageKind::Cubin => {
                    format!("ELF {}", image.target.to_string().trim_end_matches('f'))
                }
                ImageKind::Ptx => format!("PTX {}", image.target),
                _ => continue,
            };
            *sum.entry(name).or_default() += containers * each;
        }
    }
    sum
}

/// What the tool lists, or its last words.
fn list(tool: &Path, file: &Path, all: bool) -> Result<Images, String> {
    let mut command = Command::new(tool);
    command.args(all.then_some("-all")).args(["--list-elf", "--list-ptx"]).arg(file);
    let output = command.output().map_err(|error| error.to_string())?;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let fatal = errors
        .lines()
        .find(|line| line.contains("fatal") && !line.contains("does not contain device code"));
    if let Some(line) = fatal {
        return Err(line.replace(&*file.to_string_lossy(), "the file"));
    }
    // `ELF file    1: name.1.sm_90a.cubin`
    let mut sum = Images::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Some((kind, name)) = line
            .split_once(" file")
            .and_then(|(kind, rest)| Some((kind, rest.split_once(": ")?.1)))
        else {
            continue;
        };
        if let Some(target) = name.rsplit('.').nth(1).filter(|target| target.starts_with("sm_")) {
            *sum.entry(format!("{kind} {target}")).or_default() += 1;
        }
    }
    Ok(sum)
}
