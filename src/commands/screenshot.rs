//! A panel as a picture, drawn without a terminal.

use std::io::BufReader;
use std::path::Path;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use warpscope_probes::bounded::{Accept, Input};

use super::{dashboard, output};
use crate::commands::answer::rules::rule_base;
use crate::commands::cli::{
    CONFIG_FILE, CliError, CommandSpec, Exit, LIVE, NAMED_GPUS, Options, Result, STYLE,
};
use crate::commands::frames::first_frame;
use crate::commands::frames::source::{AtEnd, note_skipped, open_source};
use crate::commands::output::file::Target;
use crate::config::args::PictureFormat;
use crate::config::{args, data_folder};
use crate::features::{bench, history};
use crate::io::sink::FrameReader;
use crate::io::sink::history::{FOLDER, History};
use crate::io::source::replay::ReplayError;
use crate::shell::draw as ui;
use crate::shell::draw::{Appearance, LookOptions};
use crate::shell::tabs::{TABS, Tab};
use crate::shell::update::update;
use crate::shell::{App, Msg};
use crate::widgets::svg;
use crate::widgets::theme::ColorDepth;
use crate::worker::cpu::CPU;
use crate::worker::scheduler::BenchMode;
use crate::worker::{LINE_MAX, Lines, Update};

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "screenshot",
    about: "Draw a panel as SVG or text, without a terminal",
    args: &[
        &[&args::PANEL, &args::SIZE, &args::PICTURE_FORMAT, &args::OUTPUT, &args::FORCE],
        &[&args::SOURCE, &args::BENCH_EVENTS, &args::IMPORT],
        NAMED_GPUS,
        LIVE,
        &[&args::THEME],
        STYLE,
        CONFIG_FILE,
    ],
    examples: &[("screenshot --panel overview --size 120x36 -o overview.svg", "this machine, now")],
    run,
    ..CommandSpec::BASE
};

/// Draws one panel from this machine or from a recording.
pub(crate) fn run(options: &Options) -> Result<Exit> {
    let mut app = dashboard::app(options, rule_base(options)?)?;
    app.tab = panel(&options.get(&args::PANEL))?;
    if app.tabs.bench.devices.mode() == BenchMode::Ask {
        // Nobody can answer a picture.
        app.tabs.bench.set_mode(BenchMode::Auto);
    }
    fill(options, &mut app)?;
    let look = dashboard::look(options, true)?;
    let appearance = Appearance::new(
        &LookOptions { depth: ColorDepth::TrueColor, ..look },
        &app.shared.settings.theme,
    );
    let (columns, lines) = options.get(&args::SIZE);
    let area = Rect::new(0, 0, columns, lines);
    let mut buffer = Buffer::empty(area);
    ui::draw(&app, &appearance, area, &mut buffer);
    let picture = match options.get(&args::PICTURE_FORMAT) {
        PictureFormat::Svg => svg::svg(&buffer, &appearance.theme, "warpscope"),
        PictureFormat::Text => svg::text(&buffer),
    };
    match options.get(&args::OUTPUT) {
        Some(path) => {
            let target = Target { path: &path, force: options.get(&args::FORCE) };
            target.write(|out| out.write_all(picture.as_bytes()))?;
            Ok(Exit::Fine)
        }
        None => output::print(&picture),
    }
}

/// Runs of the journals that are named, which leaves the user's history alone, or of that.
fn fill_history(options: &Options, app: &mut App) -> Result<()> {
    let failed = CliError::usage;
    let journals = options.get(&args::IMPORT);
    let store = if journals.is_empty() {
        let path = data_folder(&options.env).map(|folder| folder.join(FOLDER));
        path.map_or(Ok(None), |path| History::open(&path)).map_err(failed)?
    } else {
        let store = History::temporary().map_err(failed)?;
        for journal in journals {
            store.import(&journal).map_err(failed)?;
        }
        Some(store)
    };
    let trends = store.map_or(Ok(Vec::new()), |store| store.trends()).map_err(failed)?;
    update(app, history::Msg::Read(Ok(trends)).into());
    Ok(())
}

fn panel(name: &str) -> Result<Tab> {
    let known: Vec<_> = TABS.iter().map(|row| row.1).collect();
    Tab::from_id(name)
        .ok_or_else(|| CliError::Usage(format!("no panel {name:?}; known: {}", known.join(", "))))
}

/// Every frame of a recording passes through the same update as on the screen, so graphs have their history.
fn fill(options: &Options, app: &mut App) -> Result<()> {
    match options.recording() {
        Some(path) => {
            let mut frames = FrameReader::new(input(&path)?);
            while let Some(frame) = frames.next_frame().map_err(CliError::at(&path))? {
                update(app, Msg::Frame(Box::new(frame)));
            }
            if frames.stats().frames == 0 {
                let why = ReplayError::NotARecording(path.clone());
                return Err(CliError::usage(why));
            }
            note_skipped(&path, frames.skipped());
        }
        None => {
            let frame = first_frame(open_source(options, AtEnd::Stop)?)?;
            update(app, Msg::Frame(Box::new(frame)));
        }
    }
    if app.tab == Tab::History {
        fill_history(options, app)?;
    }
    let Some(path) = options.get(&args::BENCH_EVENTS) else { return Ok(()) };
    fill_bench(&path, app)
}

/// What a benchmark said, an event a line.
fn fill_bench(path: &Path, app: &mut App) -> Result<()> {
    app.tabs.bench.toggle();
    for event in Lines::new(input(path)?, LINE_MAX) {
        let event = event.map_err(CliError::at(path))?;
        update(app, bench::Msg::Worker(CPU.to_owned(), Update::Event(event)).into());
    }
    Ok(())
}

fn input(path: &Path) -> Result<BufReader<Input>> {
    Input::open(path, Accept::Pipes).map(BufReader::new).map_err(CliError::at(path))
}
