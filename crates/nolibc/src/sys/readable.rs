//! Whether memory that is not ours can be read: asked of the kernel, because to try would be the program's end.
//!
//! ```text
//!   pages        asked by                                                           takes (Linux 6.18, a virtual machine)
//!   up to 4      a signal mask at each boundary of two pages                        134 ns each
//!   more         the first, the last, and whether all before that is one mapping    670 ns
//!   else         a look at each of up to 64 (Linux 5.14)                            480 ns and 120 for each page
//! ```
//! A look at a page that was never used makes it: so not more.
#![allow(unsafe_code)]

use core::ops::Range;

use super::errno::Errno;
use super::memory::unmap;
use super::process::is_readable;
use super::syscall::{call, number};

const PAGE_BYTES: usize = 4096;
/// Up to so many pages are tried one by one.
const PAGES_EACH: usize = 4;
/// Up to so many pages are looked at when they are not of one mapping.
const PAGES_LOOKED_AT: usize = 64;

/// Whether all of these pages can be read. False when it is not known.
pub fn are_readable(pages: &Range<usize>) -> bool {
    let count = pages.len() / PAGE_BYTES;
    if count <= PAGES_EACH {
        return each_is_readable(pages);
    }
    let (first, last) = (pages.start, pages.end - PAGE_BYTES);
    if !is_readable(first) || !is_readable(last) {
        return false;
    }
    is_one_mapping(&(first..last)) || count <= PAGES_LOOKED_AT && all_are_readable(pages)
}

/// The 8 bytes around a boundary are of both pages.
fn each_is_readable(pages: &Range<usize>) -> bool {
    const AT_BOUNDARY: usize = PAGE_BYTES - 4;
    let mut pairs = pages.clone().step_by(2 * PAGE_BYTES);
    pairs.all(|page| match pages.end - page {
        PAGE_BYTES => is_readable(page),
        _ => is_readable(page + AT_BOUNDARY),
    })
}

/// Whether pages whose next one is in use are of one mapping, and so may all be read when one may: it cannot grow by
/// that one (`ENOMEM`), where several are refused at once (`EFAULT`). False when it cannot be told.
fn is_one_mapping(pages: &Range<usize>) -> bool {
    let (at, bytes) = (pages.start, pages.len());
    // SAFETY: a mapping cannot grow where there is another page, and without MREMAP_MAYMOVE nothing else is changed.
    match unsafe { call(number::MREMAP, [at, bytes, bytes + PAGE_BYTES, 0, 0, 0]) } {
        Err(error) => error == Errno::ENOMEM,
        Ok(_) => {
            // The page was unmapped between the two questions.
            // SAFETY: it is the one that was made this instant, which nobody knows of.
            let _ = unsafe { unmap(pages.end as *mut u8, PAGE_BYTES) };
            false
        }
    }
}

fn all_are_readable(pages: &Range<usize>) -> bool {
    const MADV_POPULATE_READ: usize = 22;
    // SAFETY: pages are looked at as by a load of the program's own; where there are none, or no access, the call fails.
    match unsafe { call(number::MADVISE, [pages.start, pages.len(), MADV_POPULATE_READ, 0, 0, 0]) } {
        Ok(_) => true,
        Err(Errno::EINVAL | Errno::EPERM) => each_is_readable(pages),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::{map_private, protect_none, protect_read, unmap};
    use super::*;

    const PAGES: usize = 16;

    /// Pages of which this one is changed.
    fn check(changed: usize, change: impl Fn(*mut u8), is_readable: bool) {
        let start = map_private((PAGES + 2) * PAGE_BYTES).unwrap() as usize + PAGE_BYTES;
        let page = |index| start + index * PAGE_BYTES;
        change(page(changed) as *mut u8);
        for (from, to) in (0..PAGES).flat_map(|from| (from + 1..=PAGES).map(move |to| (from, to))) {
            let holds = (from..to).contains(&changed);
            assert_eq!(
                are_readable(&(page(from)..page(to))),
                !holds || is_readable,
                "{from}..{to} {changed}"
            );
            assert_eq!(all_are_readable(&(page(from)..page(to))), !holds || is_readable, "{from}..{to}");
        }
        // SAFETY: a mapping of this test.
        unsafe { unmap((start - PAGE_BYTES) as *mut u8, (PAGES + 2) * PAGE_BYTES).unwrap() };
    }

    #[test]
    fn all_pages_or_none() {
        for changed in 0..PAGES {
            check(changed, |_| (), true);
            // SAFETY: a page of a mapping of this test.
            check(changed, |page| unsafe { protect_none(page, PAGE_BYTES).unwrap() }, false);
            // SAFETY: a page of a mapping of this test.
            check(changed, |page| unsafe { protect_read(page, PAGE_BYTES).unwrap() }, true);
        }
    }

    #[test]
    fn nothing_is_mapped_by_asking() {
        let start = map_private(8 * PAGE_BYTES).unwrap() as usize;
        let end = start + 7 * PAGE_BYTES;
        // SAFETY: the last page of a mapping of this test.
        unsafe { unmap(end as *mut u8, PAGE_BYTES).unwrap() };
        assert!(!is_one_mapping(&(start..end)) || is_readable(end), "grown");
        assert!(!are_readable(&(start..end + PAGE_BYTES)) || is_readable(end));
    }
}
