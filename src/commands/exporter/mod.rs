//! `warpscope exporter`: what the GPUs do, as metrics for Prometheus.

mod address;
mod published;
mod server;
mod tls;

use std::io::{ErrorKind, Read as _};
use std::path::Path;

use warpscope_probes::bounded;

use self::address::Address;
use self::published::{Shared, count_users, page, renew};
use super::{output, token};
use crate::commands::answer::rules::rule_base;
use crate::commands::cli::{CONFIG_FILE, CliError, CommandSpec, Exit, LIVE, Options, Result};
use crate::commands::frames::follow;
use crate::commands::frames::source::{AtEnd, open_source};
use crate::config::args;
use crate::io::metrics::Form;

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "exporter",
    about: "Serve what the GPUs do as metrics for Prometheus",
    more: "GET /metrics answers in Prometheus's text format, or in OpenMetrics if requested. It listens on this machine only unless --listen names another address.",
    args: &[
        &[&args::LISTEN, &args::TOKEN_FILE, &args::TLS_CERT, &args::TLS_KEY],
        &[&args::TEXTFILE, &args::BY_USER, &args::DURATION],
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

/// Where servers look for warpscope by default.
const USUAL: &str = "127.0.0.1:9836";

fn run(options: &Options) -> Result<Exit> {
    let base = rule_base(options)?;
    let token = options
        .get(&args::TOKEN_FILE)
        .map(|path| token::read("--token-file", &path))
        .transpose()?;
    let shared = Shared::default();
    count_users(&shared, options.get(&args::BY_USER));
    let source = open_source(options, AtEnd::Stop)?;
    if let Some(path) = options.get(&args::TEXTFILE) {
        output::file::Target { path: &path, force: true }.check()?;
        demand_metrics(&path)?;
        follow(source, options, |frame| {
            renew(&shared, frame, &base);
            // A collector reads it at any time: it is replaced whole.
            let file = output::file::Target { path: &path, force: true };
            file.write(|out| out.write_all(page(&shared, Form::Plain).as_bytes()))
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
    let tls = tls::acceptor(options)?;
    let server = server::start(&addresses, token, tls, &shared)?;
    for address in &server.addresses {
        output::note(format_args!("{address}: serving metrics"));
    }
    follow(source, options, |frame| {
        renew(&shared, frame, &base);
        Ok(())
    })?;
    Ok(Exit::Fine)
}

/// Refuses to replace a file that holds anything but metrics.
fn demand_metrics(path: &Path) -> Result<()> {
    let mut begin = [0; 2];
    match bounded::open(path).and_then(|mut file| file.read(&mut begin)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(CliError::at(path)(error)),
        Ok(0) => Ok(()),
        Ok(_) if begin == *b"# " => Ok(()),
        Ok(_) => Err(CliError::Usage(format!(
            "{} exists and holds no metrics; name another file",
            path.display()
        ))),
    }
}
