//! One refresh of a fleet, and the past of one machine.

use std::collections::BTreeMap;
use std::time::Instant;

use warpscope_probes::fleet::answer::{Series, parse};
use warpscope_probes::fleet::{Builder, Cost, Exporter, Fleet, MOST_GPUS, Metric, exporters};
use warpscope_probes::{Frame, Timestamp};

use super::client::{Client, Span};
use super::query::Selection;
use crate::io::source::now;

/// Exporters that the server has, each with the label that names its machines.
pub(super) type Present = Vec<(&'static Exporter, &'static str)>;

/// How far back a machine's past is shown, and how finely.
const PAST_S: f64 = 3600.0;
const STEP_S: f64 = 15.0;

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// What is shown of all machines.
    Fleet,
    /// Everything that is understood.
    Everything,
}

/// Asks these exporters' metrics for a fleet. `before` is the last one.
pub(super) fn fleet(
    client: &mut Client,
    selection: &Selection,
    (depth, among): (Depth, &[&'static Exporter]),
    before: Option<&Fleet>,
) -> Result<(Fleet, Present), String> {
    let begun = Instant::now();
    (client.bytes, client.queries) = (0, 0);
    let mut series = 0;
    let mut builder = Builder::default();
    let mut present = Vec::new();
    for exporter in among {
        for anchor in &exporter.anchors {
            let body = client.now(&selection.members(exporter, anchor))?;
            let members = understood(&body, client)?;
            series += members.len() as u64;
            if let Some(host) = builder.members(exporter, &members) {
                present.push((*exporter, host));
                break;
            }
        }
    }
    for (exporter, host) in &present {
        if let Some(name) = &exporter.info {
            let body = client.now(&selection.info(exporter, name))?;
            builder.info(exporter, &understood(&body, client)?);
        }
        for metric in wanted(exporter, depth) {
            let body = client.now(&selection.values(exporter, host, metric))?;
            let values = understood(&body, client)?;
            series += values.len() as u64;
            builder.values(exporter, metric, &values);
        }
    }
    if builder.left_out > 0 {
        return Err(format!(
            "{} has more than {MOST_GPUS} GPUs; --prometheus-match narrows them down, such as cluster=\"a\"",
            client.server.url
        ));
    }
    if present.is_empty() && before.is_none() {
        let names: Vec<&str> = exporters().iter().map(|it| it.name.as_str()).collect();
        return Err(format!(
            "{} has no metrics of GPUs; known are those of {}",
            client.server.url,
            names.join(", ")
        ));
    }
    let seconds = begun.elapsed().as_secs_f64();
    let cost = Cost { queries: client.queries, bytes: client.bytes, series, seconds };
    Ok((builder.finish(now(), cost, before), present))
}

fn wanted(exporter: &'static Exporter, depth: Depth) -> impl Iterator<Item = &'static Metric> {
    exporter.metric.iter().filter(move |metric| metric.fleet || depth == Depth::Everything)
}

fn understood<'a>(body: &'a [u8], client: &Client) -> Result<Vec<Series<'a>>, String> {
    parse(body).map_err(|why| format!("{}: {why}", client.server.url))
}

/// The past of a machine as frames, oldest first. `fleet` holds this machine alone.
pub(super) fn past(
    client: &mut Client,
    selection: &Selection,
    (exporter, host): (&'static Exporter, &'static str),
    fleet: &Fleet,
) -> Result<Vec<Frame>, String> {
    let to = fleet.at.0 as f64 / 1000.0;
    let span = Span { from: to - PAST_S, to: to - STEP_S, step_s: STEP_S };
    let mut moments: BTreeMap<u64, Fleet> = BTreeMap::new();
    for metric in exporter.metric.iter().filter(|metric| metric.graph) {
        let body = client.past(&selection.values(exporter, host, metric), span)?;
        for series in understood(&body, client)? {
            let key = series.label(&exporter.key);
            let gpu = fleet.gpus.iter().position(|gpu| Some(gpu.key.as_str()) == key);
            let Some(gpu) = gpu else { continue };
            for (at, value) in &series.values {
                let Some(value) = metric.reading(*value) else { continue };
                let moment = moments.entry((at * 1000.0) as u64).or_insert_with(|| empty(fleet));
                set(moment, &metric.field, gpu, value);
            }
        }
    }
    let frames = moments.into_iter().filter_map(|(at, mut moment)| {
        moment.at = Timestamp(at);
        moment.frame(0)
    });
    Ok(frames.collect())
}

fn empty(fleet: &Fleet) -> Fleet {
    let total = |column: &&(&'static str, Vec<Option<f64>>)| column.0 == "memory_total_bytes";
    let columns = fleet.columns.iter().filter(total).cloned().collect();
    Fleet { columns, ..fleet.clone() }
}

fn set(fleet: &mut Fleet, field: &'static str, gpu: usize, value: f64) {
    let count = fleet.gpus.len();
    let at = fleet.columns.iter().position(|column| column.0 == field).unwrap_or_else(|| {
        fleet.columns.push((field, vec![None; count]));
        fleet.columns.len() - 1
    });
    fleet.columns[at].1[gpu].get_or_insert(value);
}
