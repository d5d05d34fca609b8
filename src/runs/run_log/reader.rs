//! A journal read record by record: lines, or values that a JSON tool has spread over several.

use std::io::{self, BufRead};

use warpscope_probes::bounded::{Skipped, Values};

use super::{Journal, Record, line};

/// Longest record that is read.
const LONGEST: usize = 64 << 20;
/// Bytes without any record after which a stream is taken for something else.
const HOPELESS: u64 = 256 << 20;

/// Reads records and counts what is none.
#[derive(Debug)]
pub struct Reader<R> {
    values: Values<R>,
    skipped: Skipped,
    records: u64,
    /// Whether a record named its kind, which points of other programs do not.
    is_journal: bool,
}

impl<R: BufRead> Reader<R> {
    /// Reads from the current position of `input`.
    pub fn new(input: R) -> Self {
        let values = Values::new(input, LONGEST);
        Self { values, skipped: Skipped::default(), records: 0, is_journal: false }
    }

    /// The next record; `None` at the end, or where a long stretch has shown that there is none.
    pub fn record(&mut self) -> io::Result<Option<Record>> {
        while self.records > 0 || self.values.position() < HOPELESS {
            let Some(value) = self.values.next()? else { return Ok(None) };
            let Some(bytes) = value.bytes else {
                self.skipped.add(value.line, Skipped::TOO_LONG);
                continue;
            };
            let text = String::from_utf8_lossy(bytes);
            let text = text.trim();
            if text.is_empty() {
                continue;
            }
            match line::read_record(text) {
                Ok((record, named)) => {
                    self.records += 1;
                    self.is_journal |= named;
                    return Ok(Some(record));
                }
                Err(why) => self.skipped.add(value.line, why),
            }
        }
        Ok(None)
    }

    /// Whether a record of a journal was among those that were read.
    pub fn is_journal(&self) -> bool {
        self.is_journal
    }

    /// What could not be read so far.
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }
}

/// Whether a file that begins like this is a journal, wherever in it the first line that is whole may stand.
pub fn begins_run_log(head: &[u8]) -> bool {
    let mut reader = Reader::new(head);
    while let Ok(Some(_)) = reader.record() {
        if reader.is_journal {
            return true;
        }
    }
    // The head may end within its first record.
    let last = head.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    line::first_kind(&String::from_utf8_lossy(last)).is_some_and(line::is_kind)
}

impl Journal {
    /// Reads a journal that fits into memory.
    pub fn read(input: impl BufRead) -> io::Result<Self> {
        let mut reader = Reader::new(input);
        let mut journal = Self::default();
        while let Some(record) = reader.record()? {
            journal.take(record);
        }
        journal.skipped = reader.skipped;
        Ok(journal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDS: [&str; 4] = [
        r#"{"type":"run","schema":1,"command":["tune"],"regime":"pulse"}"#,
        r#"{"type":"point","at_ms":1,"name":"gemm","shape":{"m":"16"},"t_ns":[10.5,11]}"#,
        r#"{"type":"mark","at_ms":2,"text":"a \" { } quote"}"#,
        r#"{"type":"end","at_ms":3,"samples":2,"exit":0}"#,
    ];

    fn read(text: &str) -> Journal {
        Journal::read(text.as_bytes()).expect("memory does not fail")
    }

    /// The records as other programs write the same JSON.
    fn forms() -> Vec<(&'static str, String)> {
        let value = |line: &str| serde_json::from_str::<serde_json::Value>(line).expect("is JSON");
        let pretty = |line: &&str| serde_json::to_string_pretty(&value(line)).expect("is JSON");
        let spaced = |line: &str| line.replace("\":", "\": ").replace(",\"", ", \"");
        let sorted = |line: &str| value(line).to_string();
        let join = |lines: Vec<String>| lines.join("\n") + "\n";
        vec![
            ("as written", RECORDS.join("\n")),
            ("Windows", RECORDS.join("\r\n")),
            ("byte order mark", format!("\u{feff}{}", RECORDS.join("\n"))),
            ("blank lines", format!("\n \n{}", RECORDS.join("\n\n"))),
            ("json.dumps", join(RECORDS.map(spaced).into())),
            ("jq -c -S", join(RECORDS.map(sorted).into())),
            ("jq .", join(RECORDS.iter().map(pretty).collect())),
            ("json.dumps indent", join(RECORDS.iter().map(pretty).collect()).replace("  ", "    ")),
        ]
    }

    #[test]
    fn the_same_json_is_the_same_journal_however_it_is_written() {
        let want = read(&RECORDS.join("\n"));
        assert_eq!((want.runs.len(), want.runs[0].points.len()), (1, 1));
        for (form, text) in forms() {
            assert_eq!(read(&text), want, "{form}");
            assert!(begins_run_log(text.as_bytes()), "{form}");
        }
    }

    #[test]
    fn a_damaged_line_costs_itself_only_wherever_it_stands() {
        let whole = read(&RECORDS.join("\n"));
        for (form, text) in forms() {
            for damage in ["garbage\n", "{\"type\":\"poi\n", "{\n  \"type\": \"point\",\n"] {
                let journal = read(&format!("{damage}{text}"));
                assert_eq!(journal.runs, whole.runs, "{damage:?} {form}");
                assert_eq!(journal.skipped.count, 1, "{damage:?} {form}");
                assert_eq!(journal.skipped.first.map(|(line, _)| line), Some(1));
            }
        }
    }

    #[test]
    fn a_journal_is_known_by_any_of_its_first_records() {
        for (text, want) in [
            ("", false),
            ("precious notes\n", false),
            ("{\"name\":\"a\",\"t_us\":1}\nname=a t_us=1\n", false),
            ("{\"type\":\"FeatureCollection\"}\n", false),
            ("{\"type\":\"point\",\"name\":\"the first line is longer than wh", true),
            ("{ \"type\" : \"run\", \"comm", true),
            ("torn by a crash\n{\"type\":\"end\"}\n", false),
            ("torn by a crash\n{\"type\":\"end\",\"at_ms\":1,\"samples\":2}\n", true),
        ] {
            assert_eq!(begins_run_log(text.as_bytes()), want, "{text}");
        }
    }

    #[test]
    fn a_file_of_something_else_is_not_read_to_its_end() {
        let mut reader = Reader::new(io::BufReader::with_capacity(1 << 20, io::repeat(0)));
        assert_eq!(reader.record().expect("reads"), None);
        assert_eq!(reader.skipped().first, Some((1, Skipped::TOO_LONG.to_owned())));
    }
}
