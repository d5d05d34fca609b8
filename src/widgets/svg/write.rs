//! The picture as a document.

use std::fmt::Write;

use ratatui::style::Modifier;
use warpscope_probes::text::shown_as;

use super::picture::{Layer, Picture, Run, Segment};
use super::{BASELINE, CELL, PITCH};
use crate::widgets::theme::Rgb;

const MARGIN: f64 = 12.0;
const FONT: &str =
    "ui-monospace,'SF Mono',Menlo,'Cascadia Mono','DejaVu Sans Mono',Consolas,monospace";

impl Picture {
    pub(super) fn document(&self, (width, height): (f64, f64), title: &str) -> String {
        let (text, back) = (hex(self.colors.0), hex(self.colors.1));
        let (outer_width, outer_height) = (width + 2.0 * MARGIN, height + 2.0 * MARGIN);
        let mut out = String::with_capacity(64 * self.runs.len() + 4096);
        let title = escape(title);
        // Writing to a string cannot fail, here and below.
        let _ = write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{outer_width}\" height=\"{outer_height}\" \
             viewBox=\"0 0 {outer_width} {outer_height}\" role=\"img\">\n<title>{title}</title>\n\
             <rect width=\"{outer_width}\" height=\"{outer_height}\" rx=\"8\" fill=\"{back}\"/>\n\
             <g transform=\"translate({MARGIN} {MARGIN})\">\n"
        );
        write_segments(&mut out, &self.back);
        write_segments(&mut out, &self.fills);
        self.write_paths(&mut out);
        self.write_dots(&mut out);
        let _ = writeln!(out, "<g font-family=\"{FONT}\" font-size=\"15\" fill=\"{text}\">");
        for run in &self.runs {
            self.write_run(&mut out, run);
        }
        out.push_str("</g>\n</g>\n</svg>\n");
        out
    }

    fn write_paths(&self, out: &mut String) {
        for (fill, layer) in &self.paths {
            let (paint, path) = (hex(layer.paint), layer.items.concat());
            let _ = match fill.stroke() {
                None => writeln!(out, "<path fill=\"{paint}\" d=\"{path}\"/>"),
                Some(stroke) => {
                    writeln!(out, "<path fill=\"none\" stroke=\"{paint}\" {stroke} d=\"{path}\"/>")
                }
            };
        }
    }

    /// Dots beside each other are one line, dashed with dashes of no length and round ends.
    fn write_dots(&self, out: &mut String) {
        for layer in &self.dots {
            let mut dots = layer.items.clone();
            dots.sort_unstable();
            let lines = dots.chunk_by(|a, b| a.0 == b.0 && a.1 + 1 == b.1);
            let _ = write!(
                out,
                "<path fill=\"none\" stroke=\"{}\" stroke-width=\"2.9\" stroke-linecap=\"round\" \
                 stroke-dasharray=\"0 {PITCH}\" d=\"",
                hex(layer.paint)
            );
            for line in lines {
                let (row, column) = line[0];
                let [x, y] = [column, row].map(|n| (f64::from(n) + 0.5) * PITCH);
                // A little longer than it is: a line without length is not dashed, and rounding
                // must not lose the last dot.
                let length = (line.len() - 1) as f64 * PITCH + 0.1;
                let _ = write!(out, "M{x} {y}h{length}");
            }
            out.push_str("\"/>\n");
        }
    }

    fn write_run(&self, out: &mut String, run: &Run) {
        let y = round(run.y + BASELINE);
        let _ = if run.symbol {
            write!(
                out,
                "<text x=\"{}\" y=\"{y}\" text-anchor=\"middle\"",
                round((run.x + run.end) / 2.0)
            )
        } else {
            write!(out, "<text x=\"{}\" y=\"{y}\"", round(run.x))
        };
        if !run.symbol && run.end - run.x > CELL.0 {
            let _ = write!(out, " textLength=\"{}\"", round(run.end - run.x));
        }
        if run.paint != self.colors.0 {
            let _ = write!(out, " fill=\"{}\"", hex(run.paint));
        }
        if run.modifier.contains(Modifier::BOLD) {
            out.push_str(" font-weight=\"bold\"");
        }
        if run.modifier.contains(Modifier::ITALIC) {
            out.push_str(" font-style=\"italic\"");
        }
        let _ = writeln!(out, ">{}</text>", escape(&run.text));
    }
}

fn write_segments(out: &mut String, layers: &[Layer<Segment>]) {
    for layer in layers {
        let _ = write!(out, "<path fill=\"{}\" d=\"", hex(layer.paint));
        for Segment { x, y, width, height } in &layer.items {
            let [x, y, width, height] = [*x, *y, *width, *height].map(round);
            let _ = write!(out, "M{x} {y}h{width}v{height}h-{width}z");
        }
        out.push_str("\"/>\n");
    }
}

/// Two decimals at most.
pub(super) fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// `#rrggbb`, or `#rgb` where that says the same.
fn hex(Rgb(r, g, b): Rgb) -> String {
    if [r, g, b].iter().all(|byte| byte >> 4 == byte & 15) {
        format!("#{:x}{:x}{:x}", r & 15, g & 15, b & 15)
    } else {
        format!("#{r:02x}{g:02x}{b:02x}")
    }
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars().map(shown_as) {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
    out
}
