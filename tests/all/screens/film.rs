//! The moving picture of the README: screens the program draws, shown one after the other by an SVG's own animation.
//! `UPDATE_SCREENSHOTS=1 cargo test --test all film` draws it anew.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::*;

const SIZE: (u16, u16) = (104, 36);
/// What is pressed, for how many tenths of a second the screen stays, and what is said below it.
const SCENES: &[(&str, u32, &str)] = &[
    ("", 8, "Who uses the GPUs, and how they do"),
    ("frame", 8, "Who uses the GPUs, and how they do"),
    ("frame", 8, "Who uses the GPUs, and how they do"),
    ("frame", 8, "Who uses the GPUs, and how they do"),
    ("t", 15, "t: graphs over a longer time, up to 24 hours"),
    ("left left left", 15, "left: what was the value then?"),
    ("esc enter", 20, "enter: everything about a GPU"),
    ("esc 2", 25, "2: what runs on these GPUs"),
    ("f enter", 30, "f: only problems; enter: why, with the evidence and the fix"),
    ("esc 3", 20, "3: how fast it really is, measured here"),
    ("4", 15, "4: processes; K sends a signal, after asking"),
    ("1 T", 15, "T: themes, light ones too"),
];
const LONGEST_S: f64 = 20.0;
const LARGEST: usize = 400 << 10;
const CAPTION: u32 = 30;

/// The screens, with the time each begins at and ends at, in tenths of a second.
fn screens() -> Vec<(String, u32, u32, &'static str)> {
    let mut frames = recorded("synthetic-h100x8");
    let mut rest = frames.split_off(frames.len() - 4).into_iter();
    let mut app = complete("synthetic-none");
    app.shared.replay = None;
    app.shared.store = warpscope::store::Store::default();
    for frame in frames {
        update(&mut app, Msg::Frame(Box::new(frame)));
    }
    app.tab = Tab::Overview;
    let mut at = 0;
    let scene = |(keys, stays, says): &(&str, u32, &'static str)| {
        for key in keys.split_whitespace() {
            match key {
                "frame" => {
                    let frame = rest.next().expect("enough frames are left");
                    update(&mut app, Msg::Frame(Box::new(frame)));
                }
                _ => press(&mut app, key),
            }
        }
        app.toast = None;
        let name = app.shared.settings.theme.to_string_lossy().into_owned();
        let look = appearance(&name, ColorDepth::TrueColor, false);
        let picture = svg::svg(&drawn(&app, &look, SIZE), &look.theme, "warpscope");
        let begins = at;
        at += stays;
        (picture, begins, at, *says)
    };
    SCENES.iter().map(scene).collect()
}

/// What is inside a document.
fn inside(document: &str) -> &str {
    let from = document.find("</title>\n").expect("has a title") + "</title>\n".len();
    document[from..].strip_suffix("</svg>\n").expect("ends")
}

/// The number behind an attribute of the document's first element.
fn size(document: &str, attribute: &str) -> u32 {
    let from = document.find(&format!(" {attribute}=\"")).expect("is there") + attribute.len() + 3;
    let digits: String = document[from..].chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("is a number")
}

fn film() -> String {
    let screens = screens();
    let length = screens.last().expect("has scenes").2;
    let (width, height) = (size(&screens[0].0, "width"), size(&screens[0].0, "height") + CAPTION);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
         <title>A walk through warpscope: synthetic values</title>\n<style>\n"
    );
    let seconds = f64::from(length) / 10.0;
    writeln!(out, ".s{{visibility:hidden;animation:{seconds}s step-end infinite}}")
        .expect("writes");
    for (number, (_, begins, ends, _)) in screens.iter().enumerate() {
        let share = |at: u32| (f64::from(at) / f64::from(length) * 1e4).round() / 100.0;
        let hidden = if *begins > 0 { "0%{visibility:hidden}" } else { "" };
        let (begins, ends) = (share(*begins), share(*ends));
        writeln!(
            out,
            ".s{number}{{animation-name:k{number}}}@keyframes k{number}{{{hidden}{begins}%{{visibility:visible}}{ends}%{{visibility:hidden}}}}"
        )
        .expect("writes");
    }
    out.push_str(
        "@media (prefers-reduced-motion){.s{animation:none}.s0{visibility:visible}}\n</style>\n",
    );
    for (number, (picture, _, _, says)) in screens.iter().enumerate() {
        let y = height - 10;
        writeln!(
            out,
            "<g class=\"s s{number}\">\n{}<text x=\"16\" y=\"{y}\" font-family=\"sans-serif\" font-size=\"16\" fill=\"#8a8a8a\">{says}</text>\n</g>",
            inside(picture)
        )
        .expect("writes");
    }
    out.push_str("</svg>\n");
    out
}

#[test]
fn the_film_is_what_the_program_draws() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("screenshots/film.svg");
    let drawn = film();
    if std::env::var_os("UPDATE_SCREENSHOTS").is_some() {
        fs::write(&path, &drawn).expect("writes");
    }
    let length: u32 = SCENES.iter().map(|scene| scene.1).sum();
    assert!(f64::from(length) / 10.0 <= LONGEST_S && drawn.len() <= LARGEST, "{}", drawn.len());
    let committed = fs::read_to_string(path).unwrap_or_default();
    assert!(committed == drawn, "UPDATE_SCREENSHOTS=1 cargo test --test all film draws it anew");
}
