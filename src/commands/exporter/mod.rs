//! `warpscope exporter`: what the GPUs do, as metrics for Prometheus.

mod address;
mod server;
mod textfile;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use warpscope_probes::Frame;
use warpscope_probes::rules::RuleBase;

use self::address::Address;
use super::output;
use crate::commands::answer::rules::rule_base;
use crate::commands::cli::{CONFIG_FILE, CliError, CommandSpec, Exit, LIVE, Options};
use crate::commands::frames::follow;
use crate::commands::frames::source::{AtEnd, open_source};
use crate::config::args;
use crate::engine::{Assumptions, Target, matrix};
use crate::io::metrics::{Extras, Form, exposition};

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "exporter",
    about: "Serve what the GPUs do as metrics for Prometheus",
    more: "GET /metrics answers in the plain text form, or in OpenMetrics where that is asked for. It listens on this machine alone unless --listen names another address.",
    args: &[
        &[&args::LISTEN, &args::TOKEN_FILE, &args::TEXTFILE, &args::BY_USER, &args::DURATION],
        &[&args::SOURCE, &args::SPEED, &args::START, &args::RULES],
        LIVE,
        CONFIG_FILE,
    ],
    examples: &[
        ("exporter", "metrics on http://127.0.0.1:9836/metrics"),
        (
            "exporter --listen 0.0.0.0:9836 --token-file /etc/warpscope/token",
            "for a server elsewhere",
        ),
        ("exporter --textfile /var/lib/node_exporter/gpu.prom", "through node_exporter"),
    ],
    run,
    ..CommandSpec::BASE
};

/// Where servers look for warpscope unless they are told otherwise.
const USUAL: &str = "127.0.0.1:9836";
/// Longest token that is read.
const LONGEST_TOKEN: u64 = 4096;

/// What is told, renewed with every frame.
#[derive(Debug, Default)]
struct Told {
    frame: Frame,
    extras: Extras,
    /// The kinds of GPUs that verdicts were counted for.
    kinds: Vec<Target>,
}

/// What every request reads.
type Shared = Arc<Mutex<Told>>;

fn run(options: &Options) -> Result<Exit, CliError> {
    let base = rule_base(options)?;
    let token = options.get(&args::TOKEN_FILE).map(|path| token(&path)).transpose()?;
    let shared = Shared::default();
    lock(&shared).extras.users = options.get(&args::BY_USER);
    let source = open_source(options, AtEnd::Stop)?;
    if let Some(path) = options.get(&args::TEXTFILE) {
        follow(source, options, |frame| {
            renew(&shared, frame, &base);
            textfile::write(&path, &page(&shared, Form::Plain))
        })?;
        return Ok(Exit::Fine);
    }
    let mut named = options.get(&args::LISTEN);
    if named.is_empty() {
        named.push(USUAL.to_owned());
    }
    let addresses = named.iter().map(|text| text.parse()).collect::<Result<Vec<Address>, _>>();
    let addresses = addresses.map_err(CliError::Usage)?;
    if let Some(address) = addresses.iter().find(|one| one.is_public() && token.is_none()) {
        return Err(CliError::Usage(format!(
            "--listen {address}: others can reach this address; --token-file PATH says who may ask"
        )));
    }
    let server = server::start(&addresses, token, &shared)?;
    for address in &server.addresses {
        output::note(format_args!("{address}: serving metrics"));
    }
    follow(source, options, |frame| {
        renew(&shared, frame, &base);
        Ok(())
    })?;
    Ok(Exit::Fine)
}

/// The token in a file, without the line end.
fn token(path: &Path) -> Result<String, CliError> {
    let failed = |why: String| CliError::Usage(format!("--token-file {}: {why}", path.display()));
    let mut text = String::new();
    let file = File::open(path).map_err(|error| failed(error.to_string()))?;
    file.take(LONGEST_TOKEN)
        .read_to_string(&mut text)
        .map_err(|error| failed(error.to_string()))?;
    match text.trim() {
        "" => Err(failed("is empty".to_owned())),
        token => Ok(token.to_owned()),
    }
}

fn lock(shared: &Shared) -> std::sync::MutexGuard<'_, Told> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes a frame; verdicts are counted anew only when the GPUs are others.
fn renew(shared: &Shared, frame: &Frame, base: &RuleBase) {
    let kind = |gpu| {
        let target = Target::from_gpu(gpu, &frame.driver);
        Target { memory_free_bytes: None, uuid: None, ..target }
    };
    let kinds: Vec<Target> = frame.gpus.iter().map(kind).collect();
    let counted = (lock(shared).kinds != kinds).then(|| counts(base, &kinds));
    let mut told = lock(shared);
    told.frame = frame.clone();
    if let Some(verdicts) = counted {
        (told.kinds, told.extras.verdicts) = (kinds, verdicts);
    }
}

fn counts(base: &RuleBase, kinds: &[Target]) -> Vec<Vec<(&'static str, usize)>> {
    let matrix = matrix(base, kinds, &Assumptions::default());
    let of = |at: usize| {
        let mut counts: Vec<(&'static str, usize)> = Vec::new();
        for cell in matrix.cells.iter().filter_map(|cells| cells.get(at)) {
            let id = cell.outcome.id();
            match counts.iter_mut().find(|one| one.0 == id) {
                Some(one) => one.1 += 1,
                None => counts.push((id, 1)),
            }
        }
        counts
    };
    (0..kinds.len()).map(of).collect()
}

/// The metrics as text.
fn page(shared: &Shared, form: Form) -> String {
    let told = lock(shared);
    exposition(&told.frame, &told.extras, form)
}
