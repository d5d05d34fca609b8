//! Prints what a frame costs and what memory does over 100 000 frames: a recording, over and over,
//! through the state and onto a screen of 200×50.
//!
//! `cargo run --release --example soak [RECORDING]`. Figures for comparing changes on one machine.

use std::fs::read_to_string;
use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use warpscope::features::what_if::WhatIf;
use warpscope::shell::draw as ui;
use warpscope::shell::draw::{Appearance, LookOptions};
use warpscope::shell::keymap::Keymap;
use warpscope::shell::tabs::Tab;
use warpscope::shell::update::update;
use warpscope::shell::{App, Msg, Settings};
use warpscope::widgets::theme::ColorDepth;
use warpscope_probes::Frame;
use warpscope_probes::rules::RuleBase;

const AREA: Rect = Rect::new(0, 0, 200, 50);
const RECORDING: &str = "tests/frames/synthetic-16.jsonl";
const REPORTS: [u64; 6] = [1, 1_000, 10_000, 25_000, 50_000, 100_000];

fn main() -> io::Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| RECORDING.to_owned());
    let text = read_to_string(&path)?;
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let keymap = Keymap::new(&Default::default()).map_err(io::Error::other)?;
    let settings = Settings {
        interval: Duration::from_secs(1),
        readonly: true,
        inspect: false,
        theme: "dark".into(),
    };
    let mut app =
        App::new(settings, keymap, WhatIf::default(), Arc::new(RuleBase::builtin().clone()));
    let look =
        LookOptions { depth: ColorDepth::TrueColor, ascii: false, paint: true, folders: vec![] };
    let appearance = Appearance::new(&look, "dark");
    let mut buffer = Buffer::empty(AREA);
    let (mut updating, mut drawing, mut since) = (Duration::ZERO, Duration::ZERO, 0);
    println!("{:>8} {:>10} {:>12} {:>12}", "frames", "RSS kB", "update us", "draw us");
    for seq in 1..=REPORTS[REPORTS.len() - 1] {
        let mut frame: Frame = serde_json::from_str(lines[(seq as usize - 1) % lines.len()])
            .map_err(io::Error::other)?;
        frame.seq = seq;
        if seq % 100 == 0 {
            app.tab = if app.tab == Tab::Overview { Tab::Processes } else { Tab::Overview };
        }
        let start = Instant::now();
        black_box(update(&mut app, Msg::Frame(Box::new(frame))));
        updating += start.elapsed();
        let start = Instant::now();
        buffer.reset();
        black_box(ui::draw(&app, &appearance, AREA, &mut buffer));
        drawing += start.elapsed();
        since += 1;
        if REPORTS.contains(&seq) {
            let mean = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(since);
            let (update, draw) = (mean(updating), mean(drawing));
            println!("{seq:>8} {:>10} {update:>12.1} {draw:>12.1}", resident_kb());
            (updating, drawing, since) = (Duration::ZERO, Duration::ZERO, 0);
        }
    }
    Ok(())
}

fn resident_kb() -> u64 {
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    let row = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    row.and_then(|row| row.split_ascii_whitespace().next()?.parse().ok()).unwrap_or(0)
}
