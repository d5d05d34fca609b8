//! Characters that are drawn, in a cell of 9 by 18 with its origin on the upper left.

/// How a path is painted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fill {
    /// Filled.
    Solid,
    /// A line of a frame.
    Line,
    /// A heavy line of a frame.
    Heavy,
    /// A stroke of a symbol.
    Stroke,
}

impl Fill {
    /// Attributes of the stroke; `None` for a filled path.
    pub(super) fn stroke(self) -> Option<&'static str> {
        match self {
            Self::Solid => None,
            Self::Line => Some("stroke-width=\"1.2\""),
            Self::Heavy => Some("stroke-width=\"2.6\""),
            Self::Stroke => {
                Some("stroke-width=\"1.5\" stroke-linecap=\"round\" stroke-linejoin=\"round\"")
            }
        }
    }
}

/// A path: how to paint it, where it starts, and how it goes on in relative steps.
pub(super) type Path = (Fill, f64, f64, &'static str);

/// What is drawn for a character.
pub(super) enum Shape {
    /// Nothing; it is text.
    None,
    /// Up to four rectangles: left, top, width, height.
    Rects([Option<[f64; 4]>; 4]),
    /// The whole cell, in a mixture of both colours.
    Shade(f64),
    /// Braille dots by their bits.
    Dots(u8),
    /// Paths.
    Paths(&'static [Path]),
}

/// The shape of a character.
pub(super) fn shape(character: char) -> Shape {
    let code = u32::from(character);
    match code {
        0x2580..=0x259f => block(code),
        0x2800..=0x28ff => Shape::Dots((code - 0x2800) as u8),
        _ => match SYMBOLS.iter().find(|(symbol, _)| *symbol == code) {
            Some((_, paths)) => Shape::Paths(paths),
            None => Shape::None,
        },
    }
}

/// Block elements.
fn block(code: u32) -> Shape {
    let one = |rect| Shape::Rects([Some(rect), None, None, None]);
    let eighths = f64::from(code & 15);
    match code {
        0x2580 => one([0.0, 0.0, 9.0, 9.0]),
        0x2581..=0x2588 => one([0.0, 18.0 - eighths * 2.25, 9.0, eighths * 2.25]),
        0x2589..=0x258f => one([0.0, 0.0, (16.0 - eighths) * 1.125, 18.0]),
        0x2590 => one([4.5, 0.0, 4.5, 18.0]),
        0x2591..=0x2593 => Shape::Shade(eighths / 4.0),
        0x2594 => one([0.0, 0.0, 9.0, 2.25]),
        0x2595 => one([7.875, 0.0, 1.125, 18.0]),
        _ => {
            let bits = QUADRANTS[(code - 0x2596) as usize];
            let rect = |bit: u8, x, y| (bits & bit != 0).then_some([x, y, 4.5, 9.0]);
            Shape::Rects([
                rect(1, 0.0, 0.0),
                rect(2, 4.5, 0.0),
                rect(4, 0.0, 9.0),
                rect(8, 4.5, 9.0),
            ])
        }
    }
}

/// Quarters of U+2596 to U+259F: upper left 1, upper right 2, lower left 4, lower right 8.
const QUADRANTS: [u8; 10] = [4, 8, 1, 13, 9, 7, 11, 2, 6, 14];

use Fill::{Heavy, Line, Solid, Stroke};

/// Frames and symbols by code point.
const SYMBOLS: &[(u32, &[Path])] = &[
    (0x2500, &[(Line, 0., 9., "h9")]),
    (0x2501, &[(Heavy, 0., 9., "h9")]),
    (0x2502, &[(Line, 4.5, 0., "v18")]),
    (0x2503, &[(Heavy, 4.5, 0., "v18")]),
    (0x250c, &[(Line, 4.5, 18., "v-9h4.5")]),
    (0x2510, &[(Line, 4.5, 18., "v-9h-4.5")]),
    (0x2514, &[(Line, 4.5, 0., "v9h4.5")]),
    (0x2518, &[(Line, 4.5, 0., "v9h-4.5")]),
    (0x251c, &[(Line, 4.5, 0., "v18m0-9h4.5")]),
    (0x2524, &[(Line, 4.5, 0., "v18m0-9h-4.5")]),
    (0x252c, &[(Line, 0., 9., "h9m-4.5 0v9")]),
    (0x2534, &[(Line, 0., 9., "h9m-4.5 0v-9")]),
    (0x253c, &[(Line, 0., 9., "h9m-4.5-9v18")]),
    (0x256d, &[(Line, 4.5, 18., "v-4.5q0-4.5 4.5-4.5")]),
    (0x256e, &[(Line, 4.5, 18., "v-4.5q0-4.5-4.5-4.5")]),
    (0x256f, &[(Line, 4.5, 0., "v4.5q0 4.5-4.5 4.5")]),
    (0x2570, &[(Line, 4.5, 0., "v4.5q0 4.5 4.5 4.5")]),
    // Crossed diagonals.
    (0x2573, &[(Stroke, 0., 0., "l9 18m0-18l-9 18")]),
    // Middle dot, bullet, double bar.
    (0xb7, &[(Solid, 3.4, 9.2, CIRCLE_SMALL)]),
    (0x2022, &[(Solid, 2.4, 9.2, CIRCLE_MIDDLE)]),
    (0x2016, &[(Stroke, 3., 5.5, "v7.4m3-7.4v7.4")]),
    // Hooked arrow.
    (0x21aa, &[(Stroke, 1.4, 5.4, "v1.6q0 2.6 2.6 2.6h3.6m-2.3-2.3l2.3 2.3l-2.3 2.3")]),
    // Squares.
    (0x25a0, &[(Solid, 1.5, 6.2, "h6v6h-6z")]),
    (0x25a1, &[(Stroke, 1.8, 6.5, "h5.4v5.4h-5.4z")]),
    // Triangles: up, up hollow, right, right small, down, down hollow, down small.
    (0x25b2, &[(Solid, 0.9, 12.3, "l3.6-6.6l3.6 6.6z")]),
    (0x25b3, &[(Stroke, 1.2, 12.1, "l3.3-6l3.3 6z")]),
    (0x25b6, &[(Solid, 1.7, 5.4, "l6.2 3.8l-6.2 3.8z")]),
    (0x25b8, &[(Solid, 2.6, 6.2, "l4.6 3l-4.6 3z")]),
    (0x25bc, &[(Solid, 0.9, 6.1, "l3.6 6.6l3.6-6.6z")]),
    (0x25bd, &[(Stroke, 1.2, 6.5, "h6.6l-3.3 6z")]),
    (0x25be, &[(Solid, 1.5, 7.2, "h6l-3 4.4z")]),
    // Diamonds.
    (0x25c6, &[(Solid, 4.5, 5.2, "l3.7 4l-3.7 4l-3.7-4z")]),
    (0x25c7, &[(Stroke, 4.5, 5.6, "l3.3 3.6l-3.3 3.6l-3.3-3.6z")]),
    // Circles: hollow, full, half.
    (0x25cb, &[(Stroke, 1.7, 9.2, CIRCLE)]),
    (0x25cf, &[(Solid, 1.2, 9.2, CIRCLE_LARGE)]),
    (0x25d0, &[(Stroke, 1.7, 9.2, CIRCLE), (Solid, 4.5, 6.4, "a2.8 2.8 0 0 0 0 5.6z")]),
    // Check and cross.
    (0x2714, &[(Stroke, 1.3, 9.6, "l2.4 2.8l4-6.4"), (Stroke, 1.3, 9.7, "l2.4 2.6")]),
    (0x2716, &[(Stroke, 1.8, 6.4, "l5.4 5.4m0-5.4l-5.4 5.4")]),
];

const CIRCLE: &str = "a2.8 2.8 0 1 0 5.6 0a2.8 2.8 0 1 0-5.6 0z";
const CIRCLE_LARGE: &str = "a3.3 3.3 0 1 0 6.6 0a3.3 3.3 0 1 0-6.6 0z";
const CIRCLE_MIDDLE: &str = "a2.1 2.1 0 1 0 4.2 0a2.1 2.1 0 1 0-4.2 0z";
const CIRCLE_SMALL: &str = "a1.1 1.1 0 1 0 2.2 0a1.1 1.1 0 1 0-2.2 0z";
