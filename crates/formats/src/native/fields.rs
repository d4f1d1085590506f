//! Varint fields and texts in the payloads of blocks, both ways. Reading is bounded by the bytes given.

use heapscribe_wire::varint;

/// Bytes of a text, and of all texts of a list, at most.
pub(crate) const TEXT_BYTES_MAX: usize = 64 << 10;
/// Texts of a list, at most.
pub(crate) const LIST_ITEMS_MAX: usize = 4096;

pub(crate) fn put(out: &mut Vec<u8>, value: u64) {
    let mut at = [0; varint::MAX_BYTES];
    let n = varint::put(&mut at, value);
    out.extend_from_slice(&at[..n]);
}

/// A number as its distance from another; any two are in reach, around the end if need be.
pub(crate) fn put_from(out: &mut Vec<u8>, value: u64, from: u64) {
    put(out, varint::zigzag(value.wrapping_sub(from) as i64));
}

pub(crate) fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    let text = text.get(..TEXT_BYTES_MAX).unwrap_or(text);
    put(out, text.len() as u64);
    out.extend_from_slice(text);
}

/// A list of texts, up to the limits.
pub(crate) fn put_list(out: &mut Vec<u8>, list: &[Vec<u8>]) {
    let mut free_bytes = TEXT_BYTES_MAX;
    let fits = |text: &&Vec<u8>| {
        let fits = text.len() <= free_bytes;
        free_bytes = free_bytes.saturating_sub(text.len());
        fits
    };
    let fitting: Vec<_> = list.iter().take(LIST_ITEMS_MAX).take_while(fits).collect();
    put(out, fitting.len() as u64);
    fitting.into_iter().for_each(|text| put_text(out, text));
}

/// Reads fields in order. After the end of the bytes there is nothing, ever.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Fields { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn bytes(&mut self, n: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(n)?;
        self.rest = rest;
        Some(bytes)
    }

    pub(crate) fn fixed_u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.bytes(4)?.try_into().ok()?))
    }

    pub(crate) fn fixed_u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.bytes(8)?.try_into().ok()?))
    }

    #[inline]
    pub(crate) fn number(&mut self) -> Option<u64> {
        let (value, n) = varint::get(self.rest)?;
        self.rest = &self.rest[n..];
        Some(value)
    }

    #[inline]
    pub(crate) fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    #[inline]
    pub(crate) fn signed(&mut self) -> Option<i64> {
        self.number().map(varint::unzigzag)
    }

    /// The inverse of [`put_from`].
    #[inline]
    pub(crate) fn number_from(&mut self, from: u64) -> Option<u64> {
        Some(from.wrapping_add(self.signed()? as u64))
    }

    pub(crate) fn text(&mut self) -> Option<&'a [u8]> {
        let n = usize::try_from(self.number()?).ok()?;
        if n > TEXT_BYTES_MAX { None } else { self.bytes(n) }
    }

    pub(crate) fn string(&mut self) -> Option<String> {
        Some(String::from_utf8_lossy(self.text()?).into_owned())
    }

    pub(crate) fn list(&mut self) -> Option<Vec<Vec<u8>>> {
        let n = usize::try_from(self.number()?).ok()?;
        if n > LIST_ITEMS_MAX {
            return None;
        }
        (0..n).map(|_| self.text().map(<[u8]>::to_vec)).collect()
    }
}
