//! The fields of packets, both ways. Reading stops at the end of the bytes; the writer's buffer is large enough by
//! bounds that are checked before.

use std::ffi::CStr;

use super::error::Fault;

/// Reads fields from bytes, one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    pos: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, pos: 0 }
    }

    #[inline(always)]
    pub(crate) fn pos(&self) -> usize {
        self.pos
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.pos >= self.bytes.len()
    }

    #[inline(always)]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        match self.bytes.get(self.pos..).and_then(<[u8]>::first_chunk::<N>) {
            Some(array) => {
                self.pos += N;
                Ok(*array)
            }
            None => Err(Fault::CutEvent),
        }
    }

    #[inline(always)]
    pub(crate) fn u8(&mut self) -> Result<u8, Fault> {
        self.array::<1>().map(|[byte]| byte)
    }

    #[inline(always)]
    pub(crate) fn u16(&mut self) -> Result<u16, Fault> {
        self.array().map(u16::from_le_bytes)
    }

    #[inline(always)]
    pub(crate) fn u32(&mut self) -> Result<u32, Fault> {
        self.array().map(u32::from_le_bytes)
    }

    #[inline(always)]
    pub(crate) fn i64(&mut self) -> Result<i64, Fault> {
        self.array().map(i64::from_le_bytes)
    }

    /// A whole number of OCaml, which has 63 bits: the top one is lost.
    #[inline(always)]
    pub(crate) fn int(&mut self) -> Result<i64, Fault> {
        self.i64().map(int)
    }

    #[inline(always)]
    pub(crate) fn vint(&mut self) -> Result<i64, Fault> {
        match self.u8()? {
            253 => self.u16().map(i64::from),
            254 => self.array().map(|bytes| i64::from(i32::from_le_bytes(bytes))),
            255 => self.int(),
            small => Ok(i64::from(small)),
        }
    }

    /// A text up to its zero byte.
    pub(crate) fn text(&mut self) -> Result<&'a [u8], Fault> {
        let rest = self.bytes.get(self.pos..).unwrap_or_default();
        let text = CStr::from_bytes_until_nul(rest).map_err(|_| Fault::CutEvent)?.to_bytes();
        self.pos += text.len() + 1;
        Ok(text)
    }

    #[inline(always)]
    pub(crate) fn skip(&mut self, bytes: usize) -> Result<(), Fault> {
        if self.bytes.len().saturating_sub(self.pos) < bytes {
            return Err(Fault::CutEvent);
        }
        self.pos += bytes;
        Ok(())
    }
}

/// What a whole number of OCaml becomes in 63 bits and back.
#[inline(always)]
pub(crate) const fn int(value: i64) -> i64 {
    (value << 1) >> 1
}

/// Writes fields into a buffer of fixed size, one after the other, and patches those that were left open.
#[derive(Clone, Debug)]
pub(crate) struct FieldWriter<const N: usize> {
    bytes: Box<[u8; N]>,
    pos: usize,
}

impl<const N: usize> FieldWriter<N> {
    pub(crate) fn new() -> Self {
        FieldWriter { bytes: Box::new([0; N]), pos: 0 }
    }

    #[inline(always)]
    pub(crate) fn pos(&self) -> usize {
        self.pos
    }

    pub(crate) fn free(&self) -> usize {
        N - self.pos
    }

    pub(crate) fn clear(&mut self) {
        self.pos = 0;
    }

    pub(crate) fn written(&self) -> &[u8] {
        &self.bytes[..self.pos.min(N)]
    }

    /// Puts bytes at a place that was left open.
    #[inline(always)]
    pub(crate) fn patch<const M: usize>(&mut self, at: usize, bytes: [u8; M]) {
        if let Some(place) = self.bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<M>) {
            *place = bytes;
        }
    }

    #[inline(always)]
    pub(crate) fn put<const M: usize>(&mut self, bytes: [u8; M]) {
        self.patch(self.pos, bytes);
        self.pos += M;
    }

    #[inline(always)]
    pub(crate) fn put_u16(&mut self, value: u16) {
        self.put(value.to_le_bytes());
    }

    #[inline(always)]
    pub(crate) fn put_u32(&mut self, value: u32) {
        self.put(value.to_le_bytes());
    }

    #[inline(always)]
    pub(crate) fn put_i64(&mut self, value: i64) {
        self.put(value.to_le_bytes());
    }

    /// A whole number, in as few bytes as memtrace takes for it.
    #[inline(always)]
    pub(crate) fn put_vint(&mut self, value: i64) {
        if (0..=252).contains(&value) {
            self.put([value as u8]);
        } else if (0..=0xffff).contains(&value) {
            self.put([253]);
            self.put_u16(value as u16);
        } else if let Ok(short) = i32::try_from(value) {
            self.put([254]);
            self.put(short.to_le_bytes());
        } else {
            self.put([255]);
            self.put_i64(int(value));
        }
    }

    /// A text up to its first zero byte, and a zero byte. What has no room is cut.
    pub(crate) fn put_text(&mut self, text: &[u8]) {
        let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
        let end = end.min(self.free().saturating_sub(1));
        if let Some(place) = self.bytes.get_mut(self.pos..self.pos + end) {
            place.copy_from_slice(&text[..end]);
            self.pos += end;
        }
        self.put([0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(value: i64) -> Vec<u8> {
        let mut writer = FieldWriter::<16>::new();
        writer.put_vint(value);
        writer.written().to_vec()
    }

    #[test]
    fn a_number_takes_the_bytes_that_memtrace_takes() {
        let check = |value: i64, bytes: &[u8]| {
            assert_eq!(encoded(value), bytes, "{value}");
            assert_eq!(Cursor::new(bytes).vint(), Ok(value), "{value}");
        };
        check(0, &[0]);
        check(252, &[252]);
        check(253, &[253, 253, 0]);
        check(0xffff, &[253, 0xff, 0xff]);
        check(0x1_0000, &[254, 0, 0, 1, 0]);
        check(0x7fff_ffff, &[254, 0xff, 0xff, 0xff, 0x7f]);
        check(0x8000_0000, &[255, 0, 0, 0, 0x80, 0, 0, 0, 0]);
        check(-1, &[254, 0xff, 0xff, 0xff, 0xff]);
        check(-0x8000_0001, &[255, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff]);
    }

    #[test]
    fn a_longer_form_than_needed_is_read() {
        assert_eq!(Cursor::new(&[253, 7, 0]).vint(), Ok(7));
        assert_eq!(Cursor::new(&[255, 7, 0, 0, 0, 0, 0, 0, 0]).vint(), Ok(7));
        assert_eq!(Cursor::new(&[254, 0, 0, 0]).vint(), Err(Fault::CutEvent));
    }

    #[test]
    fn the_top_bit_of_an_int_is_lost() {
        assert_eq!(int(i64::MIN), 0);
        assert_eq!(int(0x4000_0000_0000_0000), -0x4000_0000_0000_0000);
        assert_eq!(int(-5), -5);
    }

    #[test]
    fn a_text_ends_at_its_first_zero() {
        let mut writer = FieldWriter::<8>::new();
        writer.put_text(b"ab\0cd");
        writer.put_text(b"longer than the room");
        assert_eq!(writer.written(), b"ab\0long\0");
        assert_eq!(Cursor::new(b"ab\0cd").text(), Ok(&b"ab"[..]));
        assert_eq!(Cursor::new(b"ab").text(), Err(Fault::CutEvent));
    }
}
