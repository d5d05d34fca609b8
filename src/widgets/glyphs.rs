//! Every character that is not ASCII and reaches the screen, once, beside its ASCII stand-in.
//!
//! A glyph is always one cell wide, so a screen has the same layout in both sets. Looking the
//! stand-in up at output time was rejected: a widget must know which set it draws with, since an
//! eighth block has no ASCII twin and a bar is then drawn with fewer steps.

/// Characters of running text with their ASCII stand-ins, each as wide as the other.
const SPELLED: &[(&str, &str)] = &[
    ("·", "-"),
    ("–", "-"),
    ("—", "-"),
    ("…", "~"),
    ("×", "x"),
    ("°", " "),
    ("µ", "u"),
    ("≥", ">"),
    ("≤", "<"),
    ("→", ">"),
    ("←", "<"),
    ("‘", "'"),
    ("’", "'"),
    ("“", "\""),
    ("”", "\""),
    ("²", "2"),
    ("₂", "2"),
];

/// ASCII for a character that is not; a question mark where there is none that reads the same.
pub fn stand_in(symbol: &str) -> &'static str {
    SPELLED.iter().find(|row| row.0 == symbol).map_or("?", |row| row.1)
}

/// What a field of [`Glyphs`] holds: one glyph, or a row of them.
trait Marks {
    fn marks(&self) -> &[&'static str];
}

impl Marks for &'static str {
    fn marks(&self) -> &[&'static str] {
        std::slice::from_ref(self)
    }
}

impl<const N: usize> Marks for [&'static str; N] {
    fn marks(&self) -> &[&'static str] {
        self
    }
}

macro_rules! glyphs {
    ($($field:ident: $ty:ty = $unicode:expr, $ascii:expr, $doc:literal;)*) => {
        /// One set of glyphs. See [`Glyphs::unicode`] and [`Glyphs::ascii`].
        #[derive(Debug)]
        pub struct Glyphs {
            $(#[doc = $doc] pub $field: $ty,)*
            /// Whether the set goes beyond ASCII, so that graphs may use the Braille block.
            pub is_unicode: bool,
        }

        static UNICODE: Glyphs = Glyphs { $($field: $unicode,)* is_unicode: true };
        static ASCII: Glyphs = Glyphs { $($field: $ascii,)* is_unicode: false };

        impl Glyphs {
            /// Every glyph of the set, with the name of its field.
            pub fn all(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
                [$((stringify!($field), self.$field.marks()),)*]
                    .into_iter()
                    .flat_map(|(field, marks)| marks.iter().map(move |mark| (field, *mark)))
            }
        }
    };
}

glyphs! {
    horizontal: &'static str = "─", "-", "Horizontal border.";
    vertical: &'static str = "│", "|", "Vertical border.";
    top_left: &'static str = "╭", "+", "Corner of a frame.";
    top_right: &'static str = "╮", "+", "Corner of a frame.";
    bottom_left: &'static str = "╰", "+", "Corner of a frame.";
    bottom_right: &'static str = "╯", "+", "Corner of a frame.";
    axis_corner: &'static str = "└", "+", "Where the two axes of a plot meet.";
    branch_last: &'static str = "└", "`", "Tree: the last child.";
    full: &'static str = "█", "#", "A cell that is filled.";
    eighths: [&'static str; 7] = ["▏", "▎", "▍", "▌", "▋", "▊", "▉"], ["", "", "", "=", "=", "=", "="],
        "The end of a bar, by eighths of a cell from the left; an empty one is left to the track.";
    track: &'static str = "░", "-", "The part of a gauge that is not filled.";
    gap: &'static str = "·", ".", "A value that does not exist, in a row of values.";
    spark: [&'static str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"], [".", ":", "-", "=", "+", "*", "%", "#"],
        "Height in eighths, from the lowest; no level is blank, since blank is a gap.";
    right: &'static str = "→", ">", "Rightwards, leads to.";
    more_left: &'static str = "‹", "<", "There is more to the left.";
    more_right: &'static str = "›", ">", "There is more to the right.";
    sort_up: &'static str = "▲", "^", "Sorted, smallest first.";
    sort_down: &'static str = "▼", "v", "Sorted, largest first.";
    expanded: &'static str = "▾", "-", "Tree: an open group.";
    collapsed: &'static str = "▸", "+", "Tree: a closed group.";
    check: &'static str = "✔", "+", "Fine.";
    cross: &'static str = "✖", "x", "Failed.";
    warning: &'static str = "▲", "!", "Look at this.";
    info: &'static str = "•", "*", "A remark, a bullet.";
    record: &'static str = "●", "*", "A recording is being written.";
    play: &'static str = "▶", ">", "Playing, running.";
    pause: &'static str = "‖", "=", "Paused.";
    ellipsis: &'static str = "…", "~", "Text goes on.";
    separator: &'static str = "·", "|", "Between short facts on one line.";
    dash: &'static str = "–", "-", "Between the ends of a range; alone: nothing to show.";
    times: &'static str = "×", "x", "Times.";
    degree: &'static str = "°", "", "Degrees; nothing in ASCII, where the unit letter is enough.";
    micro: &'static str = "µ", "u", "Millionth.";
    newline: &'static str = "↵", "$", "A line break inside a token.";
    cursor: &'static str = "▏", "_", "Where typed text goes.";
    marker: &'static str = "▌", ">", "Beside the selected line.";
    scroll_thumb: &'static str = "┃", "#", "The part of a scrollbar that shows the position.";
    scroll_track: &'static str = "│", "|", "The rest of a scrollbar.";
    tight: &'static str = "≈", "~", "Fits only within the error bar.";
    parts: [&'static str; 6] = ["█", "▓", "▒", "░", "·", "╳"], ["W", "K", "w", "c", ".", "x"],
        "Parts of a GPU's memory: weights, cache, work space, the rest of the framework, free, in use by others.";
    points: [&'static str; 8] = ["●", "◆", "■", "▲", "○", "◇", "□", "△"], ["1", "2", "3", "4", "5", "6", "7", "8"],
        "Points of a plot, one per series.";
}

impl Glyphs {
    /// The full set, for terminals that show UTF-8.
    pub fn unicode() -> &'static Self {
        &UNICODE
    }

    /// The set for `--ascii`, and for terminals that show nothing else.
    pub fn ascii() -> &'static Self {
        &ASCII
    }

    /// The set asked for.
    pub fn choose(ascii: bool) -> &'static Self {
        if ascii { &ASCII } else { &UNICODE }
    }

    /// The glyph that fills `eighths` of a cell from the left; `None` for an empty one.
    pub fn eighth(&self, eighths: usize) -> Option<&'static str> {
        match eighths {
            0 => None,
            1..=7 => Some(self.eighths[eighths - 1]).filter(|glyph| !glyph.is_empty()),
            _ => Some(self.full),
        }
    }
}

#[cfg(test)]
mod tests {
    use ratatui::text::Span;

    use super::*;

    /// Fields whose ASCII side may be empty, and why.
    const MAY_BE_EMPTY: &[&str] = &["degree", "eighths"];

    #[test]
    fn every_glyph_is_one_cell_wide() {
        for glyphs in [Glyphs::unicode(), Glyphs::ascii()] {
            for (field, glyph) in glyphs.all() {
                let empty = glyph.is_empty() && !glyphs.is_unicode && MAY_BE_EMPTY.contains(&field);
                assert!(empty || Span::raw(glyph).width() == 1, "{field}: {glyph:?}");
            }
        }
    }

    #[test]
    fn the_ascii_set_is_ascii_and_printable() {
        for (field, glyph) in Glyphs::ascii().all() {
            assert!(glyph.bytes().all(|byte| byte.is_ascii_graphic()), "{field}: {glyph:?}");
        }
    }

    #[test]
    fn eighths_grow_to_a_full_cell() {
        let steps: Vec<_> = (0..=9).map(|n| Glyphs::unicode().eighth(n).unwrap_or(" ")).collect();
        assert_eq!(steps.concat(), " ▏▎▍▌▋▊▉██");
        let steps: Vec<_> = (0..=8).map(|n| Glyphs::ascii().eighth(n).unwrap_or(" ")).collect();
        assert_eq!(steps.concat(), "    ====#");
    }

    /// Whatever draws leaves the choice of characters to this one.
    #[test]
    fn no_drawing_code_prints_a_character_of_its_own() {
        let src = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut folders = vec![src.join("widgets"), src.join("features")];
        let mut seen = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.ends_with("tests") {
                    continue;
                }
                if path.is_dir() {
                    folders.push(path);
                } else if !path.ends_with("glyphs.rs") && !path.ends_with("tests.rs") {
                    seen += 1;
                    let text = std::fs::read_to_string(&path).unwrap();
                    let code = text.split("#[cfg(test)]").next().unwrap();
                    let foreign = code
                        .lines()
                        .find(|line| !line.trim_start().starts_with("//") && !line.is_ascii());
                    assert_eq!(foreign, None, "{}", path.display());
                }
            }
        }
        assert!(seen > 5);
    }
}
