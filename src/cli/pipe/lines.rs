//! Lines of bytes, bounded: what is longer is passed over without being kept.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// Most bytes of a line: many times what any limit of arguments lets through.
const MAX_LINE: usize = 64 << 20;

/// A line that was passed over.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("longer than {0} bytes: send less in one line")]
pub(super) struct TooLong(usize);

/// The lines of a reader that say something, with their numbers.
pub(super) struct Lines<R> {
    reader: R,
    max: usize,
    number: u32,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    pub(super) fn of(reader: R) -> Self {
        Self { reader, max: MAX_LINE, number: 0 }
    }

    /// The next line that is not blank, without its end.
    pub(super) async fn next(&mut self) -> io::Result<Option<(u32, Result<Vec<u8>, TooLong>)>> {
        loop {
            let Some(line) = self.line().await? else { return Ok(None) };
            self.number = self.number.saturating_add(1);
            if line.as_ref().map_or(true, |line| !line.trim_ascii().is_empty()) {
                return Ok(Some((self.number, line)));
            }
        }
    }

    async fn line(&mut self) -> io::Result<Option<Result<Vec<u8>, TooLong>>> {
        let (mut line, mut began, mut too_long) = (Vec::new(), false, false);
        loop {
            let chunk = self.reader.fill_buf().await?;
            if chunk.is_empty() {
                break;
            }
            began = true;
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let (part, _) = chunk.split_at(end.unwrap_or(chunk.len()));
            too_long |= line.len() + part.len() > self.max;
            if too_long {
                line = Vec::new();
            } else {
                line.extend_from_slice(part);
            }
            let taken = part.len() + usize::from(end.is_some());
            self.reader.consume(taken);
            if end.is_some() {
                break;
            }
        }
        let line = if too_long { Err(TooLong(self.max)) } else { Ok(line) };
        Ok(began.then_some(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_that_is_too_long_is_passed_over_and_the_next_one_is_read() {
        // A buffer smaller than the lines, so that they come in pieces.
        let reader = tokio::io::BufReader::with_capacity(3, &b"abcdef\n\n  \r\nabcdefg\n\xff\nend"[..]);
        let mut lines = Lines { max: 6, ..Lines::of(reader) };
        let mut read = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            read.push(line);
        }
        assert_eq!(
            read,
            [(1, Ok(b"abcdef".to_vec())), (4, Err(TooLong(6))), (5, Ok(vec![0xff])), (6, Ok(b"end".to_vec()))]
        );
    }
}
