//! Numbers as people read them. Every function is total: NaN, infinities and absurd sizes included.
//!
//! Results are [`Short`]: text of bounded length on the stack, since a screen formats hundreds of
//! numbers per frame and none of them needs the heap.

use std::fmt::{self, Write};
use std::ops::Deref;

use warpscope_probes::Scalar;
use warpscope_probes::units::Celsius;

use super::glyphs::Glyphs;

/// Shown where there is no number.
pub const ABSENT: &str = "n/a";

const CAPACITY: usize = 31;

/// A short text on the stack. What does not fit is cut.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Short {
    bytes: [u8; CAPACITY],
    len: u8,
}

impl Short {
    /// Formats into a short text: `Short::of(format_args!("{a}/{b}"))`.
    pub fn of(text: impl fmt::Display) -> Self {
        let mut short = Self { bytes: [0; CAPACITY], len: 0 };
        // Fails only where a foreign `Display` does; what was written until then stays.
        let _ = write!(short, "{text}");
        short
    }

    /// The text itself.
    pub fn as_str(&self) -> &str {
        // Only whole characters are ever appended.
        std::str::from_utf8(&self.bytes[..usize::from(self.len)]).unwrap_or(ABSENT)
    }
}

impl Write for Short {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let start = usize::from(self.len);
        let mut end = text.len().min(CAPACITY - start);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.bytes[start..start + end].copy_from_slice(&text.as_bytes()[..end]);
        self.len += end as u8;
        Ok(())
    }
}

impl Deref for Short {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl fmt::Debug for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// The value by a function, or [`ABSENT`].
pub fn or_absent<T>(value: Option<T>, format: impl FnOnce(T) -> Short) -> Short {
    value.map_or_else(|| Short::of(ABSENT), format)
}

/// A prefix and what it multiplies by.
type Scale = [(&'static str, f64)];

const BINARY: &Scale = &[
    ("PiB", 1_125_899_906_842_624.0),
    ("TiB", 1_099_511_627_776.0),
    ("GiB", 1_073_741_824.0),
    ("MiB", 1_048_576.0),
    ("KiB", 1024.0),
    ("B", 1.0),
];

const DECIMAL_BYTES: &Scale =
    &[("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)];
const DECIMAL: &Scale = &[("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0)];

/// The largest unit that the value reaches, counting what the next smaller one would round up to.
/// The smallest unit is shown without decimals, the others with `digits`.
fn unit(scale: &'static Scale, value: f64, digits: i32) -> (&'static str, f64) {
    let reached = scale.windows(2).find(|pair| {
        let [(_, factor), (_, smaller)] = [pair[0], pair[1]];
        let digits = if smaller == 1.0 { 0 } else { digits };
        value.abs() + 0.5 * smaller / 10f64.powi(digits) >= factor
    });
    reached.map_or(scale[scale.len() - 1], |pair| pair[0])
}

/// A finite number that a screen has room for; nothing has 10^18 of anything.
fn sane(value: f64) -> Option<f64> {
    (value.is_finite() && value.abs() < 1e18).then_some(value)
}

/// Which units the user reads values in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Units {
    /// Memory in powers of ten.
    pub decimal: bool,
    /// Temperatures in degrees Fahrenheit.
    pub fahrenheit: bool,
}

impl Units {
    fn scale(self) -> &'static Scale {
        if self.decimal { DECIMAL_BYTES } else { BINARY }
    }

    /// [`bytes`] in these units.
    pub fn bytes(self, bytes: f64) -> Short {
        or_absent(sane(bytes), |bytes| match unit(self.scale(), bytes, 1) {
            ("B", _) => Short::of(format_args!("{bytes:.0} B")),
            (unit, factor) => Short::of(format_args!("{:.1} {unit}", bytes / factor)),
        })
    }

    /// [`bytes_of`] in these units.
    pub fn bytes_of(self, used: Option<f64>, total: f64) -> Short {
        or_absent(sane(total), |total| {
            let (unit, factor) = unit(self.scale(), total, 1);
            let digits = usize::from(unit != "B");
            let used = used.and_then(sane);
            let used =
                or_absent(used, |used| Short::of(format_args!("{:.digits$}", used / factor)));
            Short::of(format_args!("{used} / {:.digits$} {unit}", total / factor))
        })
    }

    /// A temperature in this unit, from degrees Celsius.
    pub fn temperature(self, celsius: f64) -> f64 {
        if self.fahrenheit { celsius * 1.8 + 32.0 } else { celsius }
    }

    /// [`celsius`] in this unit.
    pub fn celsius(self, degrees: f64, glyphs: &Glyphs) -> Short {
        let letter = if self.fahrenheit { 'F' } else { 'C' };
        or_absent(sane(self.temperature(degrees)), |degrees| {
            Short::of(format_args!("{degrees:.0} {}{letter}", glyphs.degree))
        })
    }

    /// A field's text with its unit; bytes and temperatures in those a person reads.
    pub fn text(self, text: &str, unit: &str, glyphs: &Glyphs) -> String {
        match (unit, text.parse::<f64>()) {
            ("B", Ok(size)) => self.bytes(size).to_string(),
            ("B/s", Ok(speed)) => rate(speed).to_string(),
            (Celsius::UNIT, Ok(degrees)) => self.celsius(degrees, glyphs).to_string(),
            ("", _) => text.to_owned(),
            ("%", _) => format!("{text}%"),
            _ => format!("{text} {unit}"),
        }
    }
}

/// `61.2 GiB`, `512 B`: binary units, one decimal.
pub fn bytes(bytes: f64) -> Short {
    Units::default().bytes(bytes)
}

/// `61.2 / 139.8 GiB`: a part and the whole, in the unit of the whole.
pub fn bytes_of(used: Option<f64>, total: f64) -> Short {
    Units::default().bytes_of(used, total)
}

/// `3.0k`, `11.2k`, `950`: tokens, configurations, anything counted.
pub fn count(value: f64) -> Short {
    or_absent(sane(value), |value| match unit(DECIMAL, value, 1) {
        ("", _) if value.abs() < 9.95 && value.fract() != 0.0 => {
            Short::of(format_args!("{value:.1}"))
        }
        ("", _) => Short::of(format_args!("{value:.0}")),
        (letter, factor) => Short::of(format_args!("{:.1}{letter}", value / factor)),
    })
}

/// `1 GPU`, `3 GPUs`, `2 processes`, `4 queries`: how many there are of something countable.
pub fn counted<N: fmt::Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    match (count == N::from(1), noun.strip_suffix('y')) {
        (true, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        _ if noun.ends_with('s') => format!("{count} {noun}es"),
        _ => format!("{count} {noun}s"),
    }
}

/// `3 kernels`, or `1 of 3 kernels` where not all are shown.
pub fn part(shown: usize, all: usize, noun: &str) -> String {
    if shown == all { counted(all, noun) } else { format!("{shown} of {}", counted(all, noun)) }
}

/// `4.1 GB/s`, `12.3 TFLOP/s`: a value with a decimal prefix before its unit.
pub fn si(value: f64, unit_name: &str) -> Short {
    or_absent(sane(value), |value| {
        let (letter, factor) = unit(DECIMAL, value, 1);
        let scaled = value / factor;
        let digits = usize::from(!(letter.is_empty() && scaled.fract() == 0.0));
        Short::of(format_args!("{scaled:.digits$} {letter}{unit_name}"))
    })
}

/// `4.1 GB/s`: bandwidth is counted in powers of ten.
pub fn rate(bytes_per_second: f64) -> Short {
    si(bytes_per_second, "B/s")
}

/// `82%`.
pub fn percent(percent: f64) -> Short {
    or_absent(sane(percent), |percent| Short::of(format_args!("{percent:.0}%")))
}

/// `82%` of a share from 0 to 1.
pub fn share(share: f64) -> Short {
    percent(share * 100.0)
}

/// `412 W`, `8.4 W`.
pub fn watts(watts: f64) -> Short {
    or_absent(sane(watts), |watts| {
        let digits = usize::from(watts.abs() < 9.95);
        Short::of(format_args!("{watts:.digits$} W"))
    })
}

/// `54 °C`.
pub fn celsius(celsius: f64, glyphs: &Glyphs) -> Short {
    Units::default().celsius(celsius, glyphs)
}

/// `1980 MHz`.
pub fn megahertz(megahertz: f64) -> Short {
    or_absent(sane(megahertz), |megahertz| Short::of(format_args!("{megahertz:.0} MHz")))
}

/// `0.3s`, `42s`, `3m07s`, `1h02m`, `5d03h`: how long something took or is old.
pub fn duration(seconds: f64) -> Short {
    or_absent(sane(seconds), |seconds| {
        if seconds < 0.0 {
            return Short::of(format_args!("-{}", duration(-seconds)));
        }
        if seconds < 9.95 {
            return Short::of(format_args!("{seconds:.1}s"));
        }
        let whole = seconds.round() as u64;
        let (minutes, hours, days) = (whole / 60, whole / 3600, whole / 86_400);
        match () {
            () if whole < 60 => Short::of(format_args!("{whole}s")),
            () if hours < 1 => Short::of(format_args!("{minutes}m{:02}s", whole % 60)),
            () if days < 1 => Short::of(format_args!("{hours}h{:02}m", minutes % 60)),
            () => Short::of(format_args!("{days}d{:02}h", hours % 24)),
        }
    })
}

/// `0.34 ms`, `12 µs`: times too short for [`duration`].
pub fn short_time(seconds: f64, glyphs: &Glyphs) -> Short {
    or_absent(sane(seconds), |seconds| match seconds.abs() {
        t if t >= 0.9995 => Short::of(format_args!("{seconds:.2} s")),
        t if t >= 0.000_999_5 => Short::of(format_args!("{:.2} ms", seconds * 1e3)),
        _ => Short::of(format_args!("{:.0} {}s", seconds * 1e6, glyphs.micro)),
    })
}

/// `41.20 µs`, `970.0 ns`: how long a kernel took, to four digits.
pub fn nanoseconds(ns: f64, glyphs: &Glyphs) -> Short {
    or_absent(sane(ns), |ns| {
        let units = [(1e9, "", "s"), (1e6, "", "ms"), (1e3, glyphs.micro, "s")];
        // Just below a unit, rounding would show a thousand of the one before.
        let unit = units.into_iter().find(|(size, ..)| ns.abs() >= size * 0.999_95);
        let (size, prefix, unit) = unit.unwrap_or((1.0, "", "ns"));
        let value = ns / size;
        let decimals = match value.abs() {
            v if v >= 999.95 => 0,
            v if v >= 99.995 => 1,
            v if v >= 9.9995 => 2,
            _ => 3,
        };
        Short::of(format_args!("{value:.decimals$} {prefix}{unit}"))
    })
}

/// `2026-11-21 16:35`: a moment to the minute, UTC, from milliseconds since 1970; zero is no moment.
pub fn minute(ms: u64) -> Short {
    let text = warpscope_probes::Timestamp(ms).to_string();
    match (ms, text.get(..10), text.get(11..16)) {
        (1.., Some(day), Some(time)) => Short::of(format_args!("{day} {time}")),
        _ => Short::of(ABSENT),
    }
}

/// `+5.2%`: a relative change.
pub fn change(share: f64) -> Short {
    or_absent(sane(share), |share| match share * 100.0 {
        none if none.abs() < 0.05 => Short::of("0.0%"),
        percent => Short::of(format_args!("{percent:+.1}%")),
    })
}

/// `2.1e-4`, `0`: a relative error.
pub fn error(value: f64) -> Short {
    if value == 0.0 {
        return Short::of("0");
    }
    or_absent(sane(value), |value| Short::of(format_args!("{value:.1e}")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GIB: f64 = 1_073_741_824.0;

    /// Every row: a number as it is formatted, and what a person is to read.
    fn read_like_this(rows: &[(Short, &str)]) {
        for (index, (got, want)) in rows.iter().enumerate() {
            assert_eq!(&**got, *want, "row {index}");
        }
    }

    #[test]
    fn sizes_and_rates_read_like_this() {
        read_like_this(&[
            (bytes(0.0), "0 B"),
            (bytes(1023.0), "1023 B"),
            (bytes(1024.0), "1.0 KiB"),
            (bytes(61.2 * GIB), "61.2 GiB"),
            (bytes(GIB - 1.0), "1.0 GiB"),
            (bytes(1000.0 * 1_048_576.0), "1000.0 MiB"),
            (bytes(1023.96 * 1_048_576.0), "1.0 GiB"),
            (bytes(139.8 * GIB), "139.8 GiB"),
            (bytes_of(Some(61.2 * GIB), 139.8 * GIB), "61.2 / 139.8 GiB"),
            (bytes_of(None, 139.8 * GIB), "n/a / 139.8 GiB"),
            (bytes_of(Some(1.0), f64::NAN), "n/a"),
            (rate(4.1e9), "4.1 GB/s"),
            (rate(0.0), "0 B/s"),
            (rate(999.96e6), "1.0 GB/s"),
            (rate(4.8e12), "4.8 TB/s"),
            (si(12.34e12, "FLOP/s"), "12.3 TFLOP/s"),
            (si(-1500.0, "B/s"), "-1.5 kB/s"),
        ]);
    }

    #[test]
    fn counts_and_shares_read_like_this() {
        read_like_this(&[
            (change(0.0523), "+5.2%"),
            (change(-0.2), "-20.0%"),
            (change(-0.0004), "0.0%"),
            (count(0.0), "0"),
            (count(2.5), "2.5"),
            (count(41.0), "41"),
            (count(950.0), "950"),
            (count(3000.0), "3.0k"),
            (count(11_240.0), "11.2k"),
            (count(1.25e6), "1.2M"),
            (percent(82.4), "82%"),
            (share(0.824), "82%"),
            (error(0.000_21), "2.1e-4"),
            (error(0.0), "0"),
            (or_absent(None::<f64>, watts), "n/a"),
        ]);
    }

    #[test]
    fn watts_degrees_and_clocks_read_like_this() {
        let (unicode, ascii) = (Glyphs::unicode(), Glyphs::ascii());
        read_like_this(&[
            (watts(412.3), "412 W"),
            (watts(8.42), "8.4 W"),
            (celsius(54.4, unicode), "54 °C"),
            (celsius(54.4, ascii), "54 C"),
            (megahertz(1980.0), "1980 MHz"),
        ]);
    }

    #[test]
    fn times_read_like_this() {
        let (unicode, ascii) = (Glyphs::unicode(), Glyphs::ascii());
        read_like_this(&[
            (nanoseconds(970.04, unicode), "970.0 ns"),
            (nanoseconds(41_204.0, unicode), "41.20 µs"),
            (nanoseconds(41_204.0, ascii), "41.20 us"),
            (nanoseconds(999_970.0, ascii), "1.000 ms"),
            (nanoseconds(123_456_789.0, ascii), "123.5 ms"),
            (nanoseconds(0.5, ascii), "0.500 ns"),
            (nanoseconds(f64::NAN, ascii), "n/a"),
            (minute(1_780_000_000_000), "2026-05-28 20:26"),
            (minute(0), "n/a"),
            (duration(0.34), "0.3s"),
            (duration(42.0), "42s"),
            (duration(59.7), "1m00s"),
            (duration(187.0), "3m07s"),
            (duration(3725.0), "1h02m"),
            (duration(5.0 * 86_400.0 + 3.0 * 3600.0), "5d03h"),
            (duration(-90.0), "-1m30s"),
            (short_time(0.000_34, unicode), "340 µs"),
            (short_time(0.000_34, ascii), "340 us"),
            (short_time(0.012_345, unicode), "12.35 ms"),
            (short_time(2.0, unicode), "2.00 s"),
        ]);
    }

    #[test]
    fn one_is_singular() {
        let cases = [
            ("GPU", ["0 GPUs", "1 GPU", "2 GPUs"]),
            ("process", ["0 processes", "1 process", "2 processes"]),
            ("query", ["0 queries", "1 query", "2 queries"]),
        ];
        for (noun, texts) in cases {
            assert_eq!([0_u32, 1, 2].map(|count| counted(count, noun)), texts);
        }
    }

    #[test]
    fn what_is_no_number_is_absent_and_never_zero() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, -1e300] {
            let glyphs = Glyphs::unicode();
            let all = [
                bytes(value),
                count(value),
                rate(value),
                percent(value),
                watts(value),
                celsius(value, glyphs),
                megahertz(value),
                duration(value),
                short_time(value, glyphs),
                error(value),
            ];
            assert!(all.iter().all(|text| &**text == ABSENT), "{value}: {all:?}");
        }
    }

    #[test]
    fn short_text_is_cut_between_characters() {
        assert_eq!(&*Short::of("é".repeat(40)), "é".repeat(15));
        assert_eq!(format!("{:>4}|", Short::of("ab")), "  ab|");
    }

    proptest! {
        #[test]
        fn compact_forms_stay_within_their_columns(value in 0.0..1e15f64) {
            prop_assert!(count(value).len() <= 6);
            prop_assert!(duration(value.min(8e8)).len() <= 8);
            prop_assert!(rate(value).len() <= 10);
        }
    }
}
