//! gzip as a stream, member after member, as layers are compressed.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::GzDecoder;

use super::part::Stream;

/// What is inside a gzip stream. What is no header after the first member is padding, which flate2's own reader of many members refuses.
pub(super) struct Gunzip<R>(Option<GzDecoder<BufReader<R>>>);

impl<R: Read> Gunzip<R> {
    pub(super) fn new(inner: R) -> Self {
        Self(Some(GzDecoder::new(BufReader::with_capacity(64 << 10, inner))))
    }
}

impl<R: Read> Read for Gunzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.0 {
            let read = member.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            let rest = self.0.take().map(GzDecoder::into_inner);
            let Some(mut rest) = rest else { break };
            if rest.fill_buf()?.starts_with(&[0x1f]) {
                self.0 = Some(GzDecoder::new(rest));
            }
        }
        Ok(0)
    }
}

impl<R: Read> Stream for Gunzip<R> {}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use proptest::prelude::*;

    use super::*;

    /// As the gzip program writes it; `None` without one.
    pub(in super::super) fn gzip(bytes: &[u8]) -> Option<Vec<u8>> {
        let mut child = Command::new("gzip")
            .args(["-c", "-n"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let mut input = child.stdin.take()?;
        let bytes = bytes.to_vec();
        let writer = std::thread::spawn(move || input.write_all(&bytes));
        let output = child.wait_with_output().ok()?;
        writer.join().expect("does not panic").ok()?;
        Some(output.stdout)
    }

    #[test]
    fn reads_what_gzip_writes_member_after_member() {
        let text: Vec<u8> = (0..300_000_u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
        let Some(packed) = gzip(&text) else {
            println!("SKIPPED: no gzip here");
            return;
        };
        let twice = [packed.as_slice(), packed.as_slice(), &[0; 512]].concat();
        let mut out = Vec::new();
        Gunzip::new(twice.as_slice()).read_to_end(&mut out).expect("is whole");
        assert_eq!(out, [text.as_slice(), text.as_slice()].concat());
        let cut = Gunzip::new(&packed[..packed.len() / 2]).read_to_end(&mut Vec::new());
        assert!(cut.is_err(), "half a stream is said to be half");
    }

    /// "hello\n" as RFC 1952 with a name, written by gzip 1.12 from a file called `a`.
    #[test]
    fn a_header_with_a_name_is_skipped() {
        let bytes = [
            0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3, b'a', 0, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0xe7, 2, 0,
            0x20, 0x30, 0x3a, 0x36, 6, 0, 0, 0,
        ];
        let mut out = String::new();
        Gunzip::new(bytes.as_slice()).read_to_string(&mut out).expect("is whole");
        assert_eq!(out, "hello\n");
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..300), flags in any::<u8>()) {
            let headed = [&[0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3], bytes.as_slice()].concat();
            for bytes in [bytes, headed] {
                let mut out = Vec::new();
                let _ = Gunzip::new(bytes.as_slice()).take(1 << 20).read_to_end(&mut out);
            }
        }
    }
}
