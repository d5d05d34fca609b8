//! Arithmetic of colours: reading them, comparing them, and finding them in smaller palettes.
//!
//! Mixing happens in Oklab (Björn Ottosson, 2020, bottosson.github.io/posts/oklab), where the way
//! from green to red passes a clean yellow; a mean of RGB values passes mud.

use ratatui::style::Color;

/// A colour as three bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rgb(pub u8, pub u8, pub u8);

/// Names that a theme may use for the sixteen colours of the terminal, and for its own foreground.
pub const NAMED: &[(&str, Color)] = &[
    ("default", Color::Reset),
    ("black", Color::Black),
    ("red", Color::Red),
    ("green", Color::Green),
    ("yellow", Color::Yellow),
    ("blue", Color::Blue),
    ("magenta", Color::Magenta),
    ("cyan", Color::Cyan),
    ("white", Color::Gray),
    ("bright_black", Color::DarkGray),
    ("bright_red", Color::LightRed),
    ("bright_green", Color::LightGreen),
    ("bright_yellow", Color::LightYellow),
    ("bright_blue", Color::LightBlue),
    ("bright_magenta", Color::LightMagenta),
    ("bright_cyan", Color::LightCyan),
    ("bright_white", Color::White),
];

/// What the sixteen colours look like where no terminal decides: a quiet reading of the VGA set.
const ANSI: [Rgb; 16] = [
    Rgb(0x1c, 0x1f, 0x26),
    Rgb(0xd0, 0x4b, 0x56),
    Rgb(0x4e, 0xa6, 0x5f),
    Rgb(0xc0, 0x97, 0x3a),
    Rgb(0x4a, 0x86, 0xd6),
    Rgb(0xab, 0x66, 0xc4),
    Rgb(0x3c, 0xa5, 0xae),
    Rgb(0xc3, 0xc9, 0xd3),
    Rgb(0x76, 0x7f, 0x8e),
    Rgb(0xf0, 0x71, 0x7b),
    Rgb(0x74, 0xcf, 0x88),
    Rgb(0xec, 0xc4, 0x66),
    Rgb(0x7d, 0xb0, 0xf7),
    Rgb(0xd2, 0x92, 0xe8),
    Rgb(0x6b, 0xcf, 0xd6),
    Rgb(0xf4, 0xf6, 0xf9),
];

impl Rgb {
    /// Reads `#rrggbb`.
    pub fn parse(text: &str) -> Option<Self> {
        let hex = text.strip_prefix('#')?;
        if hex.len() != 6 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let value = u32::from_str_radix(hex, 16).ok()?;
        Some(Self((value >> 16) as u8, (value >> 8) as u8, value as u8))
    }

    /// What a colour looks like; `None` for the terminal's own foreground and background.
    pub fn of(color: Color) -> Option<Self> {
        match color {
            Color::Reset => None,
            Color::Rgb(r, g, b) => Some(Self(r, g, b)),
            Color::Indexed(index) => Some(indexed(index)),
            named => Some(ANSI[ansi_index(named)?]),
        }
    }

    /// The colour as ratatui writes it.
    pub fn color(self) -> Color {
        Color::Rgb(self.0, self.1, self.2)
    }

    /// Red, green and blue in linear light, 0 to 1.
    pub fn linear(self) -> [f64; 3] {
        [self.0, self.1, self.2].map(|byte| {
            let c = f64::from(byte) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn from_linear(linear: [f64; 3]) -> Self {
        let [r, g, b] = linear.map(|c| {
            let c = if c <= 0.003_130_8 { 12.92 * c } else { 1.055 * c.powf(1.0 / 2.4) - 0.055 };
            (c * 255.0).round().clamp(0.0, 255.0) as u8
        });
        Self(r, g, b)
    }

    /// Contrast of two colours by WCAG 2.2, 1 to 21.
    pub fn contrast(self, other: Self) -> f64 {
        let luminance = |[r, g, b]: [f64; 3]| 0.2126 * r + 0.7152 * g + 0.0722 * b;
        let (a, b) = (luminance(self.linear()), luminance(other.linear()));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// Lightness and the two colour axes of Oklab.
    pub fn oklab(self) -> [f64; 3] {
        let [r, g, b] = self.linear();
        let l = (0.412_221_470_8 * r + 0.536_332_536_3 * g + 0.051_445_992_9 * b).cbrt();
        let m = (0.211_903_498_2 * r + 0.680_699_545_1 * g + 0.107_396_956_6 * b).cbrt();
        let s = (0.088_302_461_9 * r + 0.281_718_837_6 * g + 0.629_978_700_5 * b).cbrt();
        [
            0.210_454_255_3 * l + 0.793_617_785_0 * m - 0.004_072_046_8 * s,
            1.977_998_495_1 * l - 2.428_592_205_0 * m + 0.450_593_709_9 * s,
            0.025_904_037_1 * l + 0.782_771_766_2 * m - 0.808_675_766_0 * s,
        ]
    }

    fn from_oklab([l, a, b]: [f64; 3]) -> Self {
        let x = (l + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
        let y = (l - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
        let z = (l - 0.089_484_177_5 * a - 1.291_485_548_0 * b).powi(3);
        Self::from_linear([
            4.076_741_662_1 * x - 3.307_711_591_3 * y + 0.230_969_929_2 * z,
            -1.268_438_004_6 * x + 2.609_757_401_1 * y - 0.341_319_396_5 * z,
            -0.004_196_086_3 * x - 0.703_418_614_7 * y + 1.707_614_701_0 * z,
        ])
    }

    /// The colour a share of the way to another, as the eye sees it.
    pub fn mix(self, other: Self, share: f64) -> Self {
        let (a, b) = (self.oklab(), other.oklab());
        Self::from_oklab(std::array::from_fn(|i| a[i] + (b[i] - a[i]) * share.clamp(0.0, 1.0)))
    }

    /// Index of the nearest colour of the 256, leaving out the first 16, which users redefine.
    pub fn nearest_indexed(self) -> u8 {
        let cube = |byte: u8| match byte {
            0..=47 => 0,
            48..=114 => 1,
            _ => (byte - 35) / 40,
        };
        let in_cube = 16 + 36 * cube(self.0) + 6 * cube(self.1) + cube(self.2);
        let mean = (u16::from(self.0) + u16::from(self.1) + u16::from(self.2)) / 3;
        let grey = 232 + (mean.saturating_sub(3) / 10).min(23) as u8;
        if self.distance(indexed(grey)) < self.distance(indexed(in_cube)) { grey } else { in_cube }
    }

    fn distance(self, other: Self) -> u32 {
        let square = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
        square(self.0, other.0) + square(self.1, other.1) + square(self.2, other.2)
    }

    /// The one of the sixteen colours that keeps the hue; greys become the terminal's own
    /// foreground, since black and white each vanish on half of the terminals.
    pub fn nearest_ansi(self, bright: bool) -> Color {
        let [_, a, b] = self.oklab();
        if a.hypot(b) < 0.045 {
            return Color::Reset;
        }
        let hue = b.atan2(a).to_degrees().rem_euclid(360.0);
        let row = HUES.iter().find(|(end, ..)| hue < *end).unwrap_or(&HUES[0]);
        if bright { row.2 } else { row.1 }
    }
}

/// Ends of the six hues in Oklab degrees, with the normal and the bright colour.
const HUES: [(f64, Color, Color); 6] = [
    (52.0, Color::Red, Color::LightRed),
    (122.0, Color::Yellow, Color::LightYellow),
    (172.0, Color::Green, Color::LightGreen),
    (232.0, Color::Cyan, Color::LightCyan),
    (295.0, Color::Blue, Color::LightBlue),
    (350.0, Color::Magenta, Color::LightMagenta),
];

/// The place of a colour among the sixteen of the terminal.
pub(crate) fn ansi_index(color: Color) -> Option<usize> {
    NAMED.iter().skip(1).position(|(_, named)| *named == color)
}

fn indexed(index: u8) -> Rgb {
    let level = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
    match index {
        0..=15 => ANSI[usize::from(index)],
        16..=231 => {
            let n = index - 16;
            Rgb(level(n / 36), level(n / 6 % 6), level(n % 6))
        }
        232..=255 => {
            let grey = 8 + 10 * (index - 232);
            Rgb(grey, grey, grey)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_six_hex_digits_are_a_colour() {
        assert_eq!(Rgb::parse("#0a1Bff"), Some(Rgb(10, 27, 255)));
        for bad in ["", "#", "#fff", "0a1bff", "#0a1bfg", "#0a1bff0", "#+a1bff", "#é1bff"] {
            assert_eq!(Rgb::parse(bad), None, "{bad}");
        }
    }

    /// WCAG 2.2 examples: black on white is 21, #767676 is the lightest grey with 4.5 on white.
    #[test]
    fn contrast_follows_wcag() {
        let white = Rgb(255, 255, 255);
        assert_eq!(white.contrast(Rgb(0, 0, 0)), 21.0);
        assert!(white.contrast(Rgb(0x76, 0x76, 0x76)) >= 4.5);
        assert!(white.contrast(Rgb(0x77, 0x77, 0x77)) < 4.5);
    }

    /// Values published with Oklab: white is (1, 0, 0); sRGB red is (0.628, 0.225, 0.126).
    #[test]
    fn oklab_matches_published_values_and_comes_back() {
        let close =
            |got: [f64; 3], want: [f64; 3]| got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-3);
        assert!(close(Rgb(255, 255, 255).oklab(), [1.0, 0.0, 0.0]));
        assert!(close(Rgb(255, 0, 0).oklab(), [0.627_96, 0.224_86, 0.125_85]));
        for step in 0..=255u8 {
            let color = Rgb(step, 255 - step, step.wrapping_mul(7));
            assert_eq!(Rgb::from_oklab(color.oklab()), color);
        }
    }

    #[test]
    fn the_256_are_searched_like_by_hand() {
        for step in (0..4096u32).map(|n| n * 4093) {
            let color = Rgb((step >> 16) as u8, (step >> 8) as u8, step as u8);
            let best = (16..=255).map(|i| color.distance(indexed(i))).min().unwrap();
            assert_eq!(color.distance(indexed(color.nearest_indexed())), best, "{color:?}");
        }
    }

    #[test]
    fn sixteen_colours_keep_the_hue() {
        for (hex, want) in [
            ("#ff5f6d", Color::LightRed),
            ("#e69f00", Color::LightYellow),
            ("#63d39a", Color::LightGreen),
            ("#56c8d8", Color::LightCyan),
            ("#7aa2f7", Color::LightBlue),
            ("#d78bdc", Color::LightMagenta),
            ("#808080", Color::Reset),
            ("#f4f7fc", Color::Reset),
        ] {
            assert_eq!(Rgb::parse(hex).unwrap().nearest_ansi(true), want, "{hex}");
        }
    }
}
