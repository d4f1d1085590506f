//! A file as a sequence of packets, read through one buffer; finds the next packet behind invalid bytes.

use super::error::{Fault, MemtraceError};
use super::header::Header;
use super::layout::{CONTENT_BYTES_MAX, HEADER_BYTES, MAGIC};
use crate::source::{Source, read_up_to};

/// Bytes that are read at once: several packets.
const WINDOW_BYTES: usize = 256 << 10;
/// What must be in the window for the longest packet to be read.
const PACKET_REACH: usize = HEADER_BYTES + CONTENT_BYTES_MAX;

/// Reads a source forward, in windows.
#[derive(Debug)]
pub(crate) struct Packets<S> {
    source: S,
    /// What was read, from `begin` in the file on.
    window: Vec<u8>,
    begin: u64,
    is_last: bool,
}

/// What is at an offset of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PacketAt<'p> {
    /// A packet: its header and its content.
    Packet(Header, &'p [u8]),
    /// The beginning of a packet, the rest of which is not there: how many bytes.
    Cut(Header, usize),
    /// The end of the file.
    End,
    /// Invalid bytes.
    Bad(Fault),
}

impl<S: Source> Packets<S> {
    pub(crate) fn new(source: S) -> Self {
        Packets { source, window: Vec::new(), begin: 0, is_last: false }
    }

    pub(crate) fn file_bytes(&self) -> u64 {
        self.source.len()
    }

    /// What is at `offset`.
    #[inline]
    pub(crate) fn at(&mut self, offset: u64) -> Result<PacketAt<'_>, MemtraceError> {
        let file_bytes = self.file_bytes();
        let bytes = self.bytes(offset, PACKET_REACH)?;
        if bytes.is_empty() {
            return Ok(PacketAt::End);
        }
        let header = match Header::decode(bytes) {
            Ok(header) => header,
            Err(fault) => return Ok(PacketAt::Bad(fault)),
        };
        if let Some(content) = bytes.get(header.header_bytes..header.packet_bytes) {
            if content.len() <= CONTENT_BYTES_MAX {
                return Ok(PacketAt::Packet(header, content));
            }
            return Ok(PacketAt::Bad(Fault::LargePacket(content.len())));
        }
        let is_cut = offset.saturating_add(header.packet_bytes as u64) > file_bytes;
        if is_cut && header.content_bytes() <= CONTENT_BYTES_MAX || bytes.len() < PACKET_REACH {
            return Ok(PacketAt::Cut(header, bytes.len()));
        }
        Ok(PacketAt::Bad(Fault::LargePacket(header.content_bytes())))
    }

    /// Bytes from `offset` on, this many or up to the file's end.
    fn bytes(&mut self, offset: u64, reach: usize) -> Result<&[u8], MemtraceError> {
        let in_window = |begin: u64, len: usize| {
            usize::try_from(offset.checked_sub(begin)?).ok().filter(|start| *start <= len)
        };
        let start = in_window(self.begin, self.window.len());
        let is_there = start.is_some_and(|start| self.is_last || self.window.len() - start >= reach);
        if !is_there {
            self.refill(offset)?;
        }
        let start = in_window(self.begin, self.window.len()).unwrap_or(self.window.len());
        let rest = &self.window[start..];
        Ok(&rest[..rest.len().min(reach)])
    }

    fn refill(&mut self, offset: u64) -> Result<(), MemtraceError> {
        self.window.resize(WINDOW_BYTES, 0);
        let read = read_up_to(&self.source, offset, &mut self.window)
            .map_err(|error| MemtraceError::Io { offset, error })?;
        self.is_last = read < WINDOW_BYTES;
        self.window.truncate(read);
        self.begin = offset;
        Ok(())
    }

    /// The next offset from `offset` on at which a packet of this process seems to begin that is followed by
    /// another one or by the end; the end of the file when there is none.
    pub(crate) fn next_trusted(&mut self, mut offset: u64, pid: i64) -> Result<u64, MemtraceError> {
        loop {
            offset = match self.next_magic(offset)? {
                Some(found) => found,
                None => return Ok(self.file_bytes().max(offset)),
            };
            let after = match self.at(offset)? {
                PacketAt::Packet(header, _) if header.pid == pid => offset + header.packet_bytes as u64,
                _ => 0,
            };
            if after != 0
                && matches!(self.at(after)?, PacketAt::Packet(..) | PacketAt::Cut(..) | PacketAt::End)
            {
                return Ok(offset);
            }
            offset += 1;
        }
    }

    fn next_magic(&mut self, mut offset: u64) -> Result<Option<u64>, MemtraceError> {
        loop {
            let bytes = self.bytes(offset, WINDOW_BYTES / 2)?;
            if let Some(at) = bytes.windows(MAGIC.len()).position(|some| *some == MAGIC) {
                return Ok(Some(offset + at as u64));
            }
            if bytes.len() < WINDOW_BYTES / 2 {
                return Ok(None);
            }
            offset += (bytes.len() - MAGIC.len() + 1) as u64;
        }
    }
}
