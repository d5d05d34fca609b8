//! The dashboard: options in, everything it needs to start out.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::sync::{Arc, Mutex};

use jiff::tz::TimeZone;
use warpscope_probes::rules::RuleBase;

use super::{gpu, output};
use crate::commands::answer::rules::users_rules;
use crate::commands::cli::{
    CONFIG_FILE, CliError, CommandSpec, Exit, FLEET, HOSTS, LIVE, NAMED_GPUS, Options, Result,
    SCREEN, STYLE,
};
use crate::commands::compare::known::noise_file_path;
use crate::commands::frames::source::{AtEnd, open_source};
use crate::commands::frames::what_if;
use crate::commands::record::RUNTIME;
use crate::config::args::ColorChoice;
use crate::config::{Environment, args, data_folder, state_folder};
use crate::features::bench::devices::Devices;
use crate::features::display::{Display, span};
use crate::io::memory::share_heap;
use crate::io::recordings::Follower;
use crate::io::recordings::folder::base;
use crate::io::sink::history::FOLDER;
use crate::shell::alerts::AlertRules;
use crate::shell::draw::{LookOptions, read_theme};
use crate::shell::keymap::Keymap;
use crate::shell::runtime::{AlertOutput, Ended, Kept, Launch, run as run_app};
use crate::shell::tabs::Tab;
use crate::shell::{App, Settings};
use crate::widgets::format::Units;
use crate::widgets::theme;
use crate::widgets::theme::{ColorDepth, ColorFacts, Theme};
use crate::worker::scheduler::{BenchMode, Budget};
use crate::worker::tuning::TuningCache;

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    about: "What every NVIDIA GPU you have or name can run, why it cannot run the rest, and how fast it really is",
    args: &[NAMED_GPUS, LIVE, SCREEN, STYLE, HOSTS, FLEET, CONFIG_FILE],
    screen: true,
    examples: &[
        ("", "the dashboard, even on a machine without a GPU"),
        ("--gpu 2xT4 --gpu \"RTX 3090\"", "the same, with GPUs you do not have next to your own"),
        ("-i 500ms --readonly", "two frames per second, and no way to signal a process"),
    ],
    run,
    ..CommandSpec::BASE
};

/// Opens the dashboard and stays until the user leaves.
pub(crate) fn run(options: &Options) -> Result<Exit> {
    demand_cursor(&options.env)?;
    share_heap();
    // First: what asks the driver works while everything else is made ready.
    let source = open_source(options, AtEnd::Wait)?;
    // A mistake in the user's own rules is said before the screen is taken; ours are read behind it.
    let rules = users_rules(options)?;
    let reads_rules = rules.is_none();
    let app = app(options, rules.unwrap_or_default())?;
    if options.get(&args::COLOR) == ColorChoice::Always {
        crossterm::style::force_color_output(true);
    }
    let launch = Launch {
        source,
        look: look(options, io::stdout().is_terminal())?,
        mouse: options.get(&args::MOUSE),
        kept: Kept {
            store: data_folder(&options.env).map(|folder| folder.join(FOLDER)),
            recordings: Some(Arc::new(Mutex::new(Follower::new(base(options.env.get(RUNTIME)))))),
            noise: noise_file_path(&options.env),
            alert: alert_output(options),
            config: options.config.path.path().map(Into::into),
        },
        reads_rules,
        app,
    };
    match run_app(launch)? {
        Ended::Left => Ok(Exit::Fine),
        Ended::Signal(signal) => Ok(Exit::Signal(u8::try_from(signal).unwrap_or(0))),
    }
}

/// Refuses a terminal on which nothing can be placed or typed.
fn demand_cursor(env: &Environment) -> Result<()> {
    let instead = "use `warpscope snapshot` or `warpscope stream` instead";
    let why = if env.text("TERM").as_deref() == Some("dumb") {
        "this terminal (TERM=dumb) cannot place the cursor"
    } else if !io::stdin().is_terminal() {
        "the dashboard reads keys from a terminal"
    } else {
        return Ok(());
    };
    Err(CliError::Usage(format!("{why}; {instead}")))
}

/// How much of a GPU the benchmark may take.
pub(crate) fn allowance(options: &Options) -> Budget {
    Budget {
        share: options.get(&args::BENCH_SHARE),
        memory_bytes: options.get(&args::BENCH_MEMORY),
    }
}

/// The state to start with, answering by these rules.
pub(crate) fn app(options: &Options, rules: Arc<RuleBase>) -> Result<App> {
    let keymap = Keymap::new(&options.keys).map_err(CliError::Usage)?;
    let settings = Settings {
        interval: options.get(&args::INTERVAL),
        readonly: options.get(&args::READONLY),
        inspect: options.get(&args::INSPECT) && options.is_here(),
        theme: theme_name(options),
    };
    let mut app = App::new(settings, keymap, what_if::choice(options)?, rules);
    app.shared.display = display(options);
    app.alerts.rules = alert_rules(options);
    app.tab = start_tab(options);
    let cache = gpu::cache(&options.env).unwrap_or_else(|why| {
        output::note(format_args!("warpscope: tuned configs ignored: {why}"));
        TuningCache::default()
    });
    // What a recording or another machine shows is no reason to measure here.
    let mode = if options.is_here() { options.get(&args::BENCH) } else { BenchMode::Off };
    app.tabs.bench.devices = Devices::new(mode, allowance(options)).tuned(cache);
    Ok(app)
}

/// The tab to start on; many machines are shown at once where nothing else is asked for.
fn start_tab(options: &Options) -> Tab {
    let asked = Tab::from_id(&options.get(&args::START_TAB)).unwrap_or_default();
    let is_usual = asked == Tab::default();
    if is_usual && options.get(&args::PROMETHEUS).is_some() { Tab::Fleet } else { asked }
}

/// What raises an alert; 0 is off.
fn alert_rules(options: &Options) -> AlertRules {
    let limit = |value: u64| (value > 0).then_some(value as f64);
    AlertRules {
        events: options.get(&args::ALERTS),
        temperature: limit(options.get(&args::ALERT_TEMPERATURE)),
        memory: limit(options.get(&args::ALERT_MEMORY)),
        idle: Some(options.get(&args::ALERT_IDLE)).filter(|time| !time.is_zero()),
    }
}

/// Where alerts go besides the screen.
fn alert_output(options: &Options) -> AlertOutput {
    let log = state_folder(&options.env).filter(|_| options.get(&args::ALERT_LOG));
    AlertOutput {
        signal: options.get(&args::ALERT_SIGNAL),
        command: options.get(&args::ALERT_COMMAND),
        log: log.map(|folder| folder.join("alerts.log")),
    }
}

/// How the screen is laid out and values are written.
fn display(options: &Options) -> Display {
    Display {
        units: Units {
            decimal: options.get(&args::UNITS) == "decimal",
            fahrenheit: options.get(&args::TEMPERATURE) == "fahrenheit",
        },
        zone: TimeZone::system(),
        is_local_time: options.get(&args::CLOCK) == "local",
        span: span(&options.get(&args::GRAPH_SPAN)).unwrap_or_default(),
        graphs: options.get(&args::GRAPHS),
        layouts: options.layouts.clone().into_iter().collect(),
        columns: options.get(&args::COLUMNS),
        panels: options.get(&args::PANELS),
        mouse: options.get(&args::MOUSE),
        ..Display::default()
    }
}

/// The theme asked for; `auto` follows `COLORFGBG`, which some terminals set, and is dark without it.
fn theme_name(options: &Options) -> OsString {
    if options.get(&args::THEME) != "auto" {
        return options.get(&args::THEME);
    }
    let colors = options.env.text("COLORFGBG").unwrap_or_default();
    let background = colors.rsplit(';').next().and_then(|number| number.parse::<u8>().ok());
    let light = matches!(background, Some(7 | 15));
    if light { "light" } else { "dark" }.into()
}

/// How things look on this terminal; a theme that cannot be read is an error.
pub(crate) fn look(options: &Options, is_terminal: bool) -> Result<LookOptions> {
    let name = theme_name(options);
    let folder = options.config.path.path().and_then(|file| file.parent());
    let folders: Vec<_> = folder.map(|folder| folder.join("themes")).into_iter().collect();
    Theme::load(&name, &folders, read_theme).map_err(CliError::usage)?;
    Ok(LookOptions {
        depth: depth(options, is_terminal),
        ascii: options.is_ascii(),
        paint: name != "terminal",
        folders,
    })
}

fn depth(options: &Options, is_terminal: bool) -> ColorDepth {
    let env = |name| options.env.text(name);
    let (no_color, colorterm, term) = (env("NO_COLOR"), env("COLORTERM"), env("TERM"));
    ColorDepth::detect(&ColorFacts {
        choice: match options.get(&args::COLOR) {
            ColorChoice::Auto => theme::ColorChoice::Auto,
            ColorChoice::Always => theme::ColorChoice::Always,
            ColorChoice::Never => theme::ColorChoice::Never,
        },
        no_color: no_color.as_deref(),
        colorterm: colorterm.as_deref(),
        term: term.as_deref(),
        is_terminal,
    })
}

#[cfg(test)]
mod tests {
    use crate::shell::tabs::TABS;

    #[test]
    fn every_tab_can_be_started_on() {
        let known: Vec<_> = TABS.iter().map(|row| row.1).collect();
        assert_eq!(crate::config::args::START_TAB.spec.kind.words(), known);
    }
}
