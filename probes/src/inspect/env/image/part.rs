//! A stretch of a file as a stream of its own: how a layer is read where it lies.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

/// A stream that may know a faster way to skip than to read.
pub(super) trait Stream: Read {
    /// Moves on without looking.
    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        let mut unseen = [0; 16 << 10];
        let mut left = bytes;
        while left > 0 {
            let most = usize::try_from(left).map_or(unseen.len(), |left| left.min(unseen.len()));
            match self.read(&mut unseen[..most])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => left -= count as u64,
            }
        }
        Ok(())
    }
}

impl<S: Stream + ?Sized> Stream for Box<S> {
    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        (**self).skip(bytes)
    }
}

/// Part of a file, from its own position on.
pub(super) struct Part {
    file: BufReader<File>,
    left: u64,
}

impl Part {
    /// The part that begins at `offset` and has `bytes`.
    pub(super) fn new(mut file: File, offset: u64, bytes: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(offset))?;
        Ok(Self { file: BufReader::with_capacity(64 << 10, file), left: bytes })
    }

    /// The whole file.
    pub(super) fn whole(file: File) -> io::Result<Self> {
        let bytes = file.metadata()?.len();
        Self::new(file, 0, bytes)
    }
}

impl Read for Part {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.by_ref().take(self.left).read(buffer)?;
        self.left -= read as u64;
        Ok(read)
    }
}

impl Stream for Part {
    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        if bytes > self.left {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.file.seek_relative(i64::try_from(bytes).map_err(io::Error::other)?)?;
        self.left -= bytes;
        Ok(())
    }
}
