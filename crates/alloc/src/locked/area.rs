//! Memory for a pool, from the kernel, prepared so that its first use costs no page fault: prefaulted, and if asked for
//! locked in memory and in huge pages.
#![allow(unsafe_code)]

use core::ptr::NonNull;

use super::{available_memory, sys};

const PAGE_BYTES: usize = 4096;
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// How the pages of a pool are prepared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageOptions {
    /// Every page is there before the first block is: no page fault later.
    pub prefault: bool,
    /// The kernel keeps the pages in memory (`mlock`), as far as it lets us.
    pub lock: bool,
    /// Pages of 2 MiB where the kernel has them.
    pub huge_pages: bool,
}

/// Memory for a pool.
#[derive(Clone, Copy, Debug)]
pub struct Area {
    /// Its first byte.
    pub base: NonNull<u8>,
    /// At least what was asked for.
    pub len_bytes: usize,
    /// The kernel keeps it in memory.
    pub is_locked: bool,
}

/// Where areas come from: at least so many bytes, zeroed, nobody else's, for ever; `None` when there are none.
pub type AreaSource = fn(len_bytes: usize, options: PageOptions) -> Option<Area>;

/// From the kernel. Memory that cannot be prefaulted is not taken: a pool that is not there is none; nor is more
/// asked for than the machine can have, because the kernel would kill programs for it. Memory that must not be locked
/// (`ulimit -l`) is taken unlocked, which the statistics show.
pub fn from_kernel(len_bytes: usize, options: PageOptions) -> Option<Area> {
    let page = if options.huge_pages { HUGE_PAGE_BYTES } else { PAGE_BYTES };
    let len = len_bytes.checked_next_multiple_of(page)?;
    if (options.prefault || options.lock) && !available_memory::is_enough_for(len) {
        return None;
    }
    let at = map_aligned(len, page, true)?;
    let base = NonNull::new(at as *mut u8)?;
    let mut is_locked = false;
    // SAFETY: the range is the mapping that was just made and is nobody's yet.
    unsafe {
        if options.huge_pages {
            // A kernel without them says so; ordinary pages then do.
            let _ = sys::advise(at, len, sys::MADV_HUGEPAGE);
        }
        if options.prefault && !populate(base, len) {
            sys::unmap(at, len);
            return None;
        }
        if options.lock {
            is_locked = sys::lock_in_memory(at, len).is_ok();
        }
    }
    Some(Area { base, len_bytes: len, is_locked })
}

/// Addresses for pools that are tried and never filled: pages come when they are used, and the kernel keeps no memory for
/// them.
pub fn uncounted(len_bytes: usize) -> Option<Area> {
    let len = len_bytes.checked_next_multiple_of(PAGE_BYTES)?;
    let base = NonNull::new(map_aligned(len, PAGE_BYTES, false)? as *mut u8)?;
    Some(Area { base, len_bytes: len, is_locked: false })
}

/// A new mapping at a multiple of `align`: a larger one, whose ends are unmapped.
fn map_aligned(len: usize, align: usize, is_counted: bool) -> Option<usize> {
    let slack = align - PAGE_BYTES;
    let whole = len.checked_add(slack)?;
    let at = sys::map(whole, is_counted).ok()?;
    let start = at.checked_next_multiple_of(align)?;
    // SAFETY: both ends are whole pages of the new mapping that nobody uses.
    unsafe {
        if start > at {
            sys::unmap(at, start - at);
        }
        if slack > start - at {
            sys::unmap(start + len, slack - (start - at));
        }
    }
    Some(start)
}

/// Prefaults all pages. Before Linux 5.14 by writing to each.
///
/// # Safety
/// * Unused: the range is a mapping of ours that nobody uses yet.
unsafe fn populate(base: NonNull<u8>, len: usize) -> bool {
    // SAFETY: unused; the advice only has the pages come.
    match unsafe { sys::advise(base.as_ptr() as usize, len, sys::MADV_POPULATE_WRITE) } {
        Ok(()) => true,
        Err(sys::EINVAL | sys::ENOSYS) => {
            for offset in (0..len).step_by(PAGE_BYTES) {
                // SAFETY: unused: the write is within the mapping.
                unsafe { base.add(offset).write_volatile(0) };
            }
            true
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel says of the mapping that an area begins, in KiB.
    fn kib(area: Area, field: &str) -> usize {
        let map = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let address = area.base.as_ptr() as usize;
        let parse = |text| usize::from_str_radix(text, 16);
        let mut is_in = false;
        for line in map.lines() {
            let first = line.split(' ').next().unwrap_or_default();
            if let Some((Ok(start), Ok(end))) = first.split_once('-').map(|(a, b)| (parse(a), parse(b))) {
                is_in = (start..end).contains(&address);
            }
            if let (true, Some(rest)) = (is_in, line.strip_prefix(field)) {
                return rest.trim().trim_end_matches(" kB").trim().parse().unwrap();
            }
        }
        0
    }

    const NONE: PageOptions = PageOptions { prefault: false, lock: false, huge_pages: false };

    #[test]
    fn prefaulted_memory_is_there_before_it_is_used() {
        let area = from_kernel(100 * 4096 - 5, PageOptions { prefault: true, ..NONE }).unwrap();
        assert_eq!(area.len_bytes, 100 * 4096);
        assert!(kib(area, "Rss:") >= 400, "{} KiB", kib(area, "Rss:"));
    }

    #[test]
    fn memory_for_huge_pages_begins_and_ends_with_one() {
        let area = from_kernel(1, PageOptions { huge_pages: true, ..NONE }).unwrap();
        assert_eq!(area.base.as_ptr() as usize % HUGE_PAGE_BYTES, 0);
        assert_eq!(area.len_bytes, HUGE_PAGE_BYTES);
        // SAFETY: the area is ours, both its ends too.
        unsafe {
            area.base.write(1);
            area.base.add(area.len_bytes - 1).write(1);
        }
    }

    #[test]
    fn what_no_kernel_has_is_none() {
        assert!(from_kernel(1 << 56, NONE).is_none());
        assert!(from_kernel(usize::MAX, NONE).is_none());
    }

    #[test]
    fn more_than_the_machine_has_is_not_prefaulted() {
        for options in [PageOptions { prefault: true, ..NONE }, PageOptions { lock: true, ..NONE }] {
            assert!(from_kernel(1 << 44, options).is_none());
        }
        assert!(uncounted(1 << 44).is_some());
    }

    #[test]
    fn locked_when_it_may_be() {
        let area = from_kernel(4096, PageOptions { lock: true, ..NONE }).unwrap();
        assert_eq!(kib(area, "Locked:") >= 4, area.is_locked);
    }
}
