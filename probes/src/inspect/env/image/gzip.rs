//! gzip (RFC 1952) as a stream, member after member, as layers are compressed.
//!
//! The inflater is miniz_oxide, without unsafe code and part of Rust's own standard library. The checksum is not compared: the archive
//! inside has its own, and nothing read from an image is trusted anyway.

use std::io::{self, BufRead, BufReader, Read};

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};

use super::part::Stream;

/// Longest name or comment in a header.
const LONGEST: u64 = 64 << 10;

/// What is inside a gzip stream.
pub(super) struct Gunzip<R> {
    inner: BufReader<R>,
    state: Box<InflateState>,
    /// Whether a member is being read, as opposed to the gap before the next.
    inside: bool,
}

impl<R: Read> Gunzip<R> {
    pub(super) fn new(inner: R) -> Self {
        let inner = BufReader::with_capacity(64 << 10, inner);
        Self { inner, state: InflateState::new_boxed(DataFormat::Raw), inside: false }
    }

    /// Reads the header of the next member; `false` at the end. What is no header after the first member is padding.
    fn begin(&mut self) -> io::Result<bool> {
        const EXTRA: u8 = 4;
        const NAME: u8 = 8;
        const COMMENT: u8 = 16;
        const CHECKSUM: u8 = 2;
        if !self.inner.fill_buf()?.starts_with(&[0x1f]) {
            return Ok(false);
        }
        let header: [u8; 10] = self.exact()?;
        if header[..3] != [0x1f, 0x8b, 8] {
            return Err(damaged("no gzip header"));
        }
        let flags = header[3];
        if flags & EXTRA != 0 {
            let length = u16::from_le_bytes(self.exact()?);
            io::copy(&mut self.inner.by_ref().take(length.into()), &mut io::sink())?;
        }
        for flag in [NAME, COMMENT] {
            if flags & flag != 0 {
                let mut text = Vec::new();
                self.inner.by_ref().take(LONGEST).read_until(0, &mut text)?;
            }
        }
        if flags & CHECKSUM != 0 {
            self.exact::<2>()?;
        }
        self.state.reset(DataFormat::Raw);
        self.inside = true;
        Ok(true)
    }

    fn exact<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.inner.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

impl<R: Read> Read for Gunzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !buffer.is_empty() {
            if !self.inside && !self.begin()? {
                return Ok(0);
            }
            let input = self.inner.fill_buf()?;
            let end = input.is_empty();
            let step = inflate(&mut self.state, input, buffer, MZFlush::None);
            self.inner.consume(step.bytes_consumed);
            match step.status {
                Ok(MZStatus::StreamEnd) => {
                    self.inside = false;
                    self.exact::<8>()?;
                }
                Ok(_) | Err(MZError::Buf) if step.bytes_written > 0 || !end => {}
                Ok(_) | Err(MZError::Buf) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) => return Err(damaged(&format!("damaged gzip data: {error:?}"))),
            }
            if step.bytes_written > 0 {
                return Ok(step.bytes_written);
            }
        }
        Ok(0)
    }
}

impl<R: Read> Stream for Gunzip<R> {}

fn damaged(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_owned())
}

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
