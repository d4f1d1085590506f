//! What a heap is asked for: a size and an alignment that make sense. A heap never sees any other, so none
//! has to check, and none can forget to (heaphook passed an alignment of 1 for "none", and a plug-in
//! written to the letter then broke code that keeps vectors in blocks).

/// The alignment of every block, whatever was asked for: that of the widest fundamental type.
pub const ALIGN_MIN: usize = 16;

/// A size from 1 to `isize::MAX` and an alignment that is a power of two from 16 on; both together do not
/// exceed `isize::MAX`, so that a sum of them cannot overflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    size: usize,
    align: usize,
}

impl Request {
    /// Of `size_bytes` at a multiple of `align_bytes`. Nothing is asked for as one byte, and a smaller
    /// alignment is raised to [`ALIGN_MIN`]. `None` when the alignment is no power of two, or when no memory
    /// could ever hold it.
    #[inline(always)]
    pub const fn new(size_bytes: usize, align_bytes: usize) -> Option<Request> {
        let size = if size_bytes == 0 { 1 } else { size_bytes };
        let align = if align_bytes < ALIGN_MIN { ALIGN_MIN } else { align_bytes };
        if !align_bytes.is_power_of_two() || size > isize::MAX as usize || align > isize::MAX as usize - size
        {
            return None;
        }
        Some(Request { size, align })
    }

    /// Of `size_bytes` at the least alignment.
    #[inline(always)]
    pub const fn bytes(size_bytes: usize) -> Option<Request> {
        Request::new(size_bytes, ALIGN_MIN)
    }

    /// Of `count` pieces of `size_bytes`; `None` as well when the product overflows.
    #[inline(always)]
    pub const fn array(count: usize, size_bytes: usize) -> Option<Request> {
        match count.checked_mul(size_bytes) {
            Some(total) => Request::bytes(total),
            None => None,
        }
    }

    /// Bytes asked for, at least 1.
    #[inline(always)]
    pub const fn size_bytes(self) -> usize {
        self.size
    }

    /// What the address is to be a multiple of, at least [`ALIGN_MIN`].
    #[inline(always)]
    pub const fn align_bytes(self) -> usize {
        self.align
    }

    /// Whether an address is as aligned as this asks.
    #[inline(always)]
    pub const fn is_aligned(self, address: usize) -> bool {
        address & (self.align - 1) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sane() {
        const MOST: usize = isize::MAX as usize;
        for (size, align, expected) in [
            (0, 1, Some((1, 16))),
            (1, 8, Some((1, 16))),
            (100, 16, Some((100, 16))),
            (100, 1 << 20, Some((100, 1 << 20))),
            (MOST - 16, 1, Some((MOST - 16, 16))),
            (MOST - 15, 1, None),
            (usize::MAX, 16, None),
            (1, 1 << 63, None),
            (1, 0, None),
            (1, 24, None),
        ] {
            let request = Request::new(size, align).map(|r| (r.size_bytes(), r.align_bytes()));
            assert_eq!(request, expected, "{size} at {align}");
        }
    }

    #[test]
    fn a_product_that_overflows_is_no_request() {
        assert_eq!(Request::array(1 << 33, 1 << 33), None);
        assert_eq!(Request::array(3, 5), Request::bytes(15));
        assert_eq!(Request::array(0, usize::MAX), Request::bytes(0));
    }
}
