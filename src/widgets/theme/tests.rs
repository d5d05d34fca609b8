//! Every theme is walked: roles, contrast, colour vision, depth. And the errors of theme files.

use super::*;

fn themes() -> impl Iterator<Item = Theme> {
    BUILTIN.iter().map(|(name, _)| Theme::builtin(name).unwrap())
}

/// Roles that may be quieter than text, with the least contrast and the reason.
const QUIET: &[(Role, f64, &str)] = &[
    (Role::Faint, 2.0, "decoration; nothing is said by it alone"),
    (Role::Absent, 2.0, "stands for a value that does not exist"),
    (Role::Border, 1.3, "a frame; the title names it"),
    (Role::Track, 1.2, "the empty part of a gauge; the filled part says the value"),
    (Role::GraphLow, 2.0, "the foot of a graph; its top carries the value"),
];

fn required(role: Role) -> f64 {
    match (QUIET.iter().find(|(quiet, ..)| *quiet == role), role) {
        (Some((_, least, _)), _) => *least,
        (None, Role::Text | Role::Title) => 4.5,
        (None, _) => 3.0,
    }
}

/// Roles drawn as text on the background: all but the selection, which is tested as a pair.
fn on_background() -> impl Iterator<Item = &'static RoleInfo> {
    ROLES.iter().filter(|info| !matches!(info.role, Role::SelectionFg | Role::SelectionBg))
}

#[test]
fn files_are_named_like_their_theme() {
    for (name, text) in BUILTIN {
        let theme = Theme::parse(text, name).unwrap();
        assert_eq!(theme.name(), *name);
    }
}

#[test]
fn contrast_holds_in_every_theme_and_in_256_colours() {
    let mut checked = 0;
    for theme in themes() {
        let Some(background) = Rgb::of(theme.background) else { continue };
        for info in on_background() {
            let Some(color) = Rgb::of(theme.declared[info.role as usize]) else { continue };
            let contrast = color.contrast(background);
            let least = required(info.role);
            assert!(contrast >= least, "{}: {} {contrast:.2} < {least}", theme.name, info.id);
            let [near, behind] = [color, background]
                .map(|rgb| Rgb::of(Color::Indexed(rgb.nearest_indexed())).unwrap());
            let contrast = near.contrast(behind);
            let least = least * 0.85;
            assert!(
                contrast >= least,
                "{} in 256: {} {contrast:.2} < {least}",
                theme.name,
                info.id
            );
            checked += 1;
        }
    }
    assert!(checked > 5 * 40);
}

#[test]
fn selected_lines_are_readable() {
    for theme in themes() {
        let style = theme.selection();
        if style.add_modifier.contains(Modifier::REVERSED) {
            assert_eq!(theme.name, "terminal");
            continue;
        }
        let [fg, bg] = [style.fg, style.bg].map(|color| Rgb::of(color.unwrap()).unwrap());
        assert!(fg.contrast(bg) >= 4.5, "{}", theme.name);
        let behind = Rgb::of(theme.background).unwrap();
        assert!(bg.contrast(behind) >= 1.3, "{}: {:.2}", theme.name, bg.contrast(behind));
    }
}

#[test]
fn the_contrast_theme_reaches_the_enhanced_level() {
    let theme = Theme::builtin("contrast").unwrap();
    let background = Rgb::of(theme.background).unwrap();
    for info in on_background().filter(|info| required(info.role) >= 3.0) {
        let color = Rgb::of(theme.declared[info.role as usize]).unwrap();
        assert!(color.contrast(background) >= 7.0, "{}", info.id);
    }
}

/// A theme that leaves the background to the terminal must do without black and white.
#[test]
fn terminal_themes_read_on_dark_and_on_light() {
    let theme = Theme::builtin("terminal").unwrap();
    assert_eq!(theme.base().bg, Some(Color::Reset));
    let vanishing = [Color::Black, Color::White, Color::Gray, Color::DarkGray];
    for info in ROLES {
        let color = theme.declared[info.role as usize];
        assert!(!vanishing.contains(&color) && !matches!(color, Color::Rgb(..)), "{}", info.id);
    }
}

const OUTCOMES: [Role; 7] = [
    Role::Works,
    Role::Fallback,
    Role::Slow,
    Role::Partial,
    Role::WrongOutput,
    Role::Fails,
    Role::Unknown,
];

type Matrix = [[f64; 3]; 3];

/// Machado, Oliveira, Fernandes: A Physiologically-based Model for Simulation of Color Vision
/// Deficiency, IEEE TVCG 15(6), 2009, supplementary table, severity 1.0, for linear RGB.
const VISIONS: &[(&str, Matrix)] = &[
    ("normal", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    (
        "protan",
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ],
    ),
    (
        "deutan",
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ],
    ),
];

/// CIE L*a*b* under D65 of a colour as seen with a vision.
fn lab(color: Rgb, vision: &Matrix) -> [f64; 3] {
    let times =
        |m: &Matrix, v: [f64; 3]| m.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2]);
    let seen = times(vision, color.linear()).map(|c| c.clamp(0.0, 1.0));
    let xyz = times(
        &[
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.0721750],
            [0.0193339, 0.1191920, 0.9503041],
        ],
        seen,
    );
    let f = |t: f64| if t > 0.008856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
    let [x, y, z] = [f(xyz[0] / 0.95047), f(xyz[1]), f(xyz[2] / 1.08883)];
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// Difference by CIE 1976; 2.3 is just noticeable.
fn difference(a: Rgb, b: Rgb, vision: &Matrix) -> f64 {
    let (a, b) = (lab(a, vision), lab(b, vision));
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn the_colorblind_theme_keeps_outcomes_apart() {
    let theme = Theme::builtin("colorblind").unwrap();
    let color = |role: Role| Rgb::of(theme.declared[role as usize]).unwrap();
    for (name, vision) in VISIONS {
        for (i, a) in OUTCOMES.iter().enumerate() {
            for b in &OUTCOMES[..i] {
                let apart = difference(color(*a), color(*b), vision);
                assert!(apart >= 18.0, "{name}: {a:?} and {b:?} differ by {apart:.1}");
            }
        }
    }
}

#[test]
fn works_and_fails_differ_for_every_eye_in_every_theme() {
    for theme in themes().filter(|theme| theme.name != "terminal") {
        let color = |role: Role| Rgb::of(theme.declared[role as usize]).unwrap();
        for (name, vision) in VISIONS {
            let apart = difference(color(Role::Works), color(Role::Fails), vision);
            assert!(apart >= 14.0, "{} {name}: {apart:.1}", theme.name);
        }
    }
}

#[test]
fn without_colour_nothing_is_coloured_and_states_still_differ() {
    for theme in themes().map(|theme| theme.at_depth(ColorDepth::None)) {
        for info in ROLES {
            let style = theme.style(info.role);
            assert_eq!(style.fg, Some(Color::Reset), "{}", info.id);
            assert!(style.add_modifier.contains(info.plain), "{}", info.id);
        }
        assert_eq!(theme.base().bg, Some(Color::Reset));
        assert!(theme.selection().add_modifier.contains(Modifier::REVERSED));
        let pairs = [
            (Role::TapeGood, Role::TapeBad),
            (Role::Works, Role::Fails),
            (Role::Text, Role::Late),
            (Role::Border, Role::BorderFocus),
            (Role::Good, Role::Bad),
        ];
        for (a, b) in pairs {
            assert_ne!(theme.style(a), theme.style(b), "{a:?} {b:?}");
        }
    }
}

#[test]
fn sixteen_colours_are_the_terminals_own() {
    for theme in themes().map(|theme| theme.at_depth(ColorDepth::Ansi16)) {
        let share = (0..=10).map(|n| theme.ramp(Ramp::Load, n as f32 / 10.0));
        for style in ROLES.iter().map(|info| theme.style(info.role)).chain(share) {
            assert!(NAMED.iter().any(|(_, color)| Some(*color) == style.fg), "{style:?}");
        }
        assert_eq!(theme.base(), theme.style(Role::Text).bg(Color::Reset));
        assert_eq!(theme.style(Role::Text).fg, Some(Color::Reset), "{}", theme.name);
        assert_ne!(theme.style(Role::Works), theme.style(Role::Fails), "{}", theme.name);
    }
}

#[test]
fn ramps_run_from_their_first_stop_to_their_last() {
    let theme = Theme::default();
    for (ramp, [low, mid, high]) in RAMPS {
        assert_eq!(theme.ramp(*ramp, 0.0), theme.style(*low));
        assert_eq!(theme.ramp(*ramp, 1.0), theme.style(*high));
        assert_eq!(theme.ramp(*ramp, f32::NAN), theme.style(*low));
        assert_eq!(theme.ramp(*ramp, -1.0), theme.style(*low));
        assert_eq!(theme.ramp(*ramp, f32::INFINITY), theme.style(*high));
        let middle = Rgb::of(theme.ramp(*ramp, 0.5).fg.unwrap()).unwrap();
        assert!(
            difference(middle, Rgb::of(theme.style(*mid).fg.unwrap()).unwrap(), &VISIONS[0].1)
                < 6.0
        );
    }
    let terminal = Theme::builtin("terminal").unwrap();
    assert_eq!(terminal.ramp(Ramp::Load, 0.9), terminal.style(Role::Bad));
    assert_eq!(terminal.ramp(Ramp::Load, 0.7).fg, Some(Color::Yellow));
}

const SMALL: &str = "kind = \"light\"\n[colors]\ntext = \"#000000\"\nmuted = \"#444444\"\nfaint = \"#888888\"\n\
    accent = \"blue\"\ngood = \"green\"\nwarn = \"yellow\"\nbad = \"red\"\ninfo = \"cyan\"\nselection_bg = \"#dddddd\"\n";

#[test]
fn a_theme_needs_only_the_roots() {
    let theme = Theme::parse(SMALL, "small.toml").unwrap();
    assert_eq!((theme.name(), theme.kind()), ("small.toml", Kind::Light));
    assert_eq!(theme.style(Role::Fails).fg, Some(Color::Red));
    assert_eq!(theme.style(Role::Tf32).fg, Some(Color::Cyan), "by two steps");
}

#[test]
fn errors_name_file_line_and_the_nearest_valid_name() {
    let with = |from: &str, to: &str| {
        Theme::parse(&SMALL.replace(from, to), "t.toml").unwrap_err().to_string()
    };
    let rows = [
        (with("accent", "acent"), "t.toml:6: unknown role \"acent\"; did you mean \"accent\"?"),
        (with("\"blue\"", "\"bleu\""), "t.toml:6: unknown colour \"bleu\"; did you mean \"blue\"?"),
        (with("\"blue\"", "\"heliotrope\""), "t.toml:6: unknown colour \"heliotrope\""),
        (with("\"blue\"", "\"#12345\""), "t.toml:6: \"#12345\" is no colour: write \"#rrggbb\""),
        (with("\"blue\"", "7"), "t.toml:6: \"accent\" must be a string"),
        (with("\"light\"", "\"grey\""), "t.toml:1: \"kind\" must be \"dark\" or \"light\""),
        (with("kind", "kinds"), "t.toml:1: unknown key \"kinds\"; did you mean \"kind\"?"),
        (
            with("kind = \"light\"", "paint_background = 1"),
            "t.toml:1: \"paint_background\" must be true or false",
        ),
        (with("bad = \"red\"\n", ""), "theme t.toml: [colors] must name \"bad\""),
        (with("accent", "acc\\u001bent"), "t.toml:6: "),
        (with("[colors]", "colors = 3"), "t.toml:"),
    ];
    for (got, want) in rows {
        assert!(got.starts_with(want), "{got}");
        assert!(!got.contains('\u{1b}'), "{got:?}");
    }
    let long = "#".repeat(70_000);
    assert!(Theme::parse(&long, "t.toml").unwrap_err().message.contains("is it a theme?"));
}

#[test]
fn a_users_file_comes_before_a_built_in_theme() {
    let folders = [PathBuf::from("/home/u/themes")];
    let read = |path: &Path| match path.to_str() {
        Some("/home/u/themes/dark.toml" | "./my.toml") => Ok(Some(SMALL.to_owned())),
        Some("./pipe.toml") => Err("is a pipe".to_owned()),
        _ => Ok(None),
    };
    let load = |choice| Theme::load(choice, &folders, read);
    assert_eq!(load("dark").unwrap().name(), "/home/u/themes/dark.toml");
    assert_eq!(load("./my.toml").unwrap().name(), "./my.toml");
    assert_eq!(load("light").unwrap().name(), "light");
    assert_eq!(load("./pipe.toml").unwrap_err().to_string(), "theme ./pipe.toml: is a pipe");
    let error = load("drak").unwrap_err().to_string();
    assert!(error.starts_with("theme drak: no such theme; did you mean \"dark\"?"), "{error}");
    assert!(load("no/such.toml").unwrap_err().to_string().contains("colorblind"));
}
