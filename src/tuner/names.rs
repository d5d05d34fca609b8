//! Whether every name in a spec's commands has a value.

use super::command_line::CommandLine;
use super::contract::Check;
use super::spec::{Kind, Spec};

/// Names a command may hold besides parameters and sizes.
pub(super) const BUILT_IN: &[&str] = &["dtype", "samples", "output", "build"];

/// The command something is wrong with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Run,
    Build,
    Reference,
    Launch,
}

type Checked = Result<(), (Place, String)>;

/// Every name has a value, one reference serves all candidates, and what a build is made with is known to the run.
pub(super) fn check(spec: &Spec) -> Checked {
    if spec.kind == Kind::Cpu {
        return Ok(());
    }
    let sizes: Vec<&str> =
        spec.shapes.first().into_iter().flatten().map(|row| row.0.as_str()).collect();
    let dtype: &[&str] = if spec.dtypes.is_empty() { &[] } else { &["dtype"] };
    let params: Vec<&str> = spec.params.keys().map(String::as_str).collect();
    let problem = [&sizes, dtype, &["samples"]].concat();
    if let Some(name) = sizes.iter().find(|name| params.contains(name) || BUILT_IN.contains(name)) {
        return Err((Place::Run, format!("the size `{name}` has the name of something else")));
    }
    let output: &[&str] = match spec.contract.check {
        Check::Output(..) => &["output"],
        Check::Error(_) | Check::Format | Check::Checksum(..) => &[],
    };
    let folder: &[&str] = if spec.build.is_some() { &["build"] } else { &[] };
    let words = [&problem, &params, output, folder].concat();
    if let Some(cuda) = &spec.cuda {
        known(Place::Run, &cuda.words, &words)?;
        if let Some(name) =
            cuda.names().into_iter().find(|name| !sizes.contains(name) && !params.contains(name))
        {
            let known = [sizes.as_slice(), &params].concat().join(", ");
            return Err((Place::Launch, format!("{name} has no value here; known: {known}")));
        }
    }
    known(Place::Run, &spec.run, &words)?;
    if let Check::Output(reference, ..) | Check::Checksum(reference, _) = &spec.contract.check {
        known(Place::Reference, reference, &[&problem, output].concat())?;
        if !output.is_empty() && !spec.run.mentions("output") {
            let why = "the reference writes {output} and the run does not name it";
            return Err((Place::Run, why.to_owned()));
        }
    }
    spec.build.as_ref().map_or(Ok(()), |build| apart(build, spec, &params))
}

fn known(place: Place, line: &CommandLine, known: &[&str]) -> Checked {
    let Some(name) = line.names().find(|name| !known.contains(name)) else { return Ok(()) };
    let known = known.join(", ");
    Err((place, format!("{{{name}}} has no value here; known: {known}; {{{{ is a brace")))
}

/// Candidates take turns: what was built for one must still be there when another has been built.
fn apart(build: &CommandLine, spec: &Spec, params: &[&str]) -> Checked {
    known(Place::Build, build, &[params, &["build"]].concat())?;
    let run = spec.cuda.as_ref().map_or(&spec.run, |cuda| &cuda.words);
    let told = |name: &str| name == "build" || run.mentions(name);
    if run.mentions("build") || build.names().all(told) {
        return Ok(());
    }
    let why = "the build depends on a parameter that the run does not name: let both name {build}, a folder of each candidate";
    Err((Place::Run, why.to_owned()))
}
