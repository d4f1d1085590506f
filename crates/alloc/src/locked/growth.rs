//! How large pools are: the first as configured, the next ones twice as large each time, so that a heap that
//! is too small is enlarged a few times only. What was reached is remembered: heaphook began anew with the
//! smallest size at each request that did not fit, and kept every small pool that had not helped.

use super::area::{Area, PageOptions};

/// What a heap of pools is to be. Sizes are in bytes of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Of the first pool.
    pub pool_bytes: usize,
    /// Of the first pool that is added when that is full, doubled for each that follows; 0 for never.
    pub grow_bytes: usize,
    /// Up to where that is doubled, unless a request needs more; 0 for no end.
    pub grow_bytes_max: usize,
    /// Of all pools together at most; 0 for no limit.
    pub max_bytes: usize,
    /// What a thread may keep of small blocks for itself at most, so that it need not take the lock for each;
    /// 0 for nothing.
    pub cache_bytes: usize,
    /// What all threads together may keep at most: when caches of that size are more, other threads get none. 0 for no
    /// limit.
    pub caches_bytes: usize,
    /// How the pages are prepared.
    pub pages: PageOptions,
}

impl Config {
    /// 64 MiB, and 16, 32, 64 MiB and so on when they are not enough, with pages that come when they are used. No
    /// caches: what a thread keeps is not joined with its neighbours, and others do not get it.
    pub const DEFAULT: Config = Config {
        pool_bytes: 64 << 20,
        grow_bytes: 16 << 20,
        grow_bytes_max: 0,
        max_bytes: 0,
        cache_bytes: 0,
        caches_bytes: 0,
        pages: PageOptions { prefault: false, lock: false, huge_pages: false },
    };

    /// With the caches of a program that does not say what it wants: for a thread a 256th of the first pool, 64 KiB at
    /// most, and a 16th of that pool for all threads. None where this pool is all there is: a request could fail for
    /// what idle threads keep.
    pub const fn with_default_caches(self) -> Config {
        const CACHE_BYTES_MAX: usize = 64 << 10;
        let share = self.pool_bytes / 256;
        let cache_bytes = match self.grow_bytes {
            0 => 0,
            _ if share > CACHE_BYTES_MAX => CACHE_BYTES_MAX,
            _ => share,
        };
        Config { cache_bytes, caches_bytes: self.pool_bytes / 16, ..self }
    }

    /// For an address space of so many bytes: pools of a 16th of it at most, so that what they have in reserve is not
    /// missing elsewhere.
    pub const fn within_address_space(self, limit_bytes: usize) -> Config {
        const fn at_most(bytes: usize, most: usize) -> usize {
            if bytes < most { bytes } else { most }
        }
        let most = limit_bytes / 16;
        let (pool_bytes, grow_bytes) = (at_most(self.pool_bytes, most), at_most(self.grow_bytes, most));
        Config { pool_bytes, grow_bytes, grow_bytes_max: most, ..self }
    }
}

/// How far the heap has grown.
#[derive(Debug)]
pub(super) struct Growth {
    pub(super) config: Config,
    /// All pools.
    total_bytes: usize,
    /// The next pool; 0 before the first.
    next_bytes: usize,
    pub(super) locked_bytes: u64,
    pub(super) has_started: bool,
}

/// The next pool: as large as it should be, and as it has to be at least.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Plan {
    pub(super) wanted_bytes: usize,
    pub(super) least_bytes: usize,
}

impl Growth {
    pub(super) const fn new(config: Config) -> Growth {
        Growth { config, total_bytes: 0, next_bytes: config.grow_bytes, locked_bytes: 0, has_started: false }
    }

    /// The next pool, for a request that needs `needed_bytes` to be served from it; `None` when no pool may
    /// be so large, or none may be added.
    pub(super) fn plan(&self, needed_bytes: usize) -> Option<Plan> {
        let room = match self.config.max_bytes {
            0 => usize::MAX,
            max => max.saturating_sub(self.total_bytes),
        };
        let mut wanted = if self.has_started { self.next_bytes } else { self.config.pool_bytes };
        if wanted == 0 && (self.has_started || self.config.grow_bytes == 0) {
            return None;
        }
        if !self.has_started && wanted < needed_bytes && self.config.grow_bytes == 0 {
            // The first pool is all there will be; it is as configured, though not for this request.
            return Some(Plan { wanted_bytes: wanted.min(room), least_bytes: wanted.min(room) });
        }
        wanted = wanted.max(1);
        while wanted < needed_bytes {
            // A size that no doubling reaches is one that no kernel has.
            wanted = wanted.checked_mul(2)?;
        }
        let wanted_bytes = wanted.min(room);
        (wanted_bytes >= needed_bytes).then_some(Plan { wanted_bytes, least_bytes: needed_bytes })
    }

    /// Sizes to ask for, one after the other: half as much, and half of that, when the kernel does not have as much
    /// as would be good. A pool that is only as large as its first block leaves the next one to ask again: in
    /// a program that used up its address space there were 31,128 of them, and each `free` looked through all.
    /// The first pool is as it was configured, or as small as it can be.
    pub(super) fn sizes(&self, plan: Plan) -> impl Iterator<Item = usize> + use<> {
        let Plan { wanted_bytes, least_bytes } = plan;
        let has_started = self.has_started;
        let smaller =
            move |bytes: usize| if has_started { (bytes / 2).max(least_bytes) } else { least_bytes };
        core::iter::successors(Some(wanted_bytes), move |&bytes| {
            (bytes > least_bytes).then(|| smaller(bytes))
        })
    }

    /// Counts a pool that was added by `plan`.
    pub(super) fn add_pool(&mut self, plan: Plan, area: &Area) {
        let len_bytes = area.len_bytes;
        self.total_bytes = self.total_bytes.saturating_add(len_bytes);
        if area.is_locked {
            self.locked_bytes += len_bytes as u64;
        }
        if self.has_started {
            let is_less = len_bytes < plan.wanted_bytes;
            let doubled = plan.wanted_bytes.max(self.next_bytes).saturating_mul(2);
            let most = if self.config.grow_bytes_max == 0 { usize::MAX } else { self.config.grow_bytes_max };
            self.next_bytes = if is_less { len_bytes } else { doubled.min(most) };
        }
        self.has_started = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: PageOptions = PageOptions { prefault: false, lock: false, huge_pages: false };

    fn growth(pool_bytes: usize, grow_bytes: usize, max_bytes: usize) -> Growth {
        Growth::new(Config { pool_bytes, grow_bytes, max_bytes, pages: PAGES, ..Config::DEFAULT })
    }

    fn area(len_bytes: usize) -> Area {
        Area { base: core::ptr::NonNull::dangling(), len_bytes, is_locked: false }
    }

    /// The pools that are added for these needs, one after the other.
    fn check(mut growth: Growth, needs: &[usize], expected: &[Option<usize>]) {
        for (&need, &expected) in needs.iter().zip(expected) {
            let plan = growth.plan(need);
            assert_eq!(plan.map(|plan| plan.wanted_bytes), expected, "{need} of {growth:?}");
            if let Some(plan) = plan {
                growth.add_pool(plan, &area(plan.wanted_bytes));
            }
        }
    }

    #[test]
    fn pools_double_and_that_is_remembered() {
        // heaphook's example: 1000 bytes with additional pools of 100 take five of them there, each time anew.
        check(growth(64, 100, 0), &[10, 1000, 10, 10], &[Some(64), Some(1600), Some(3200), Some(6400)]);
    }

    #[test]
    fn default_caches_are_a_share_of_the_first_pool() {
        let check = |pool_bytes, grow_bytes, expected| {
            let config = Config { pool_bytes, grow_bytes, ..Config::DEFAULT }.with_default_caches();
            assert_eq!((config.cache_bytes, config.caches_bytes), expected, "{pool_bytes} + {grow_bytes}");
        };
        check(64 << 20, 16 << 20, (64 << 10, 4 << 20));
        check(1 << 20, 16 << 20, (4 << 10, 64 << 10));
        check(64 << 20, 0, (0, 4 << 20));
        check(0, 1, (0, 0));
    }

    #[test]
    fn without_growth_there_is_one_pool() {
        check(growth(4096, 0, 0), &[10, 10], &[Some(4096), None]);
        check(growth(4096, 0, 0), &[1 << 40, 10], &[Some(4096), None]);
        check(growth(0, 0, 0), &[10], &[None]);
    }

    #[test]
    fn the_limit_holds_for_all_pools_together() {
        check(growth(4096, 4096, 10_000), &[10, 10, 10, 10], &[Some(4096), Some(4096), Some(1808), None]);
        check(growth(4096, 4096, 8192), &[10, 5000], &[Some(4096), None]);
    }

    #[test]
    fn doubling_ends_where_that_is_configured() {
        let config = Config { pool_bytes: 1 << 30, grow_bytes: 1 << 30, ..Config::DEFAULT };
        let config = config.within_address_space(16 << 12);
        check(
            Growth::new(config),
            &[10, 10, 20_000, 10],
            &[Some(4096), Some(4096), Some(32_768), Some(4096)],
        );
    }

    #[test]
    fn sizes_are_halved_until_the_kernel_has_one() {
        let mut growth = growth(4096, 1 << 20, 0);
        let sizes = |growth: &Growth, plan| growth.sizes(plan).collect::<Vec<_>>();
        let plan = Plan { wanted_bytes: 1 << 20, least_bytes: 100_000 };
        assert_eq!(sizes(&growth, plan), [1 << 20, 100_000], "the first");
        growth.add_pool(plan, &area(4096));
        assert_eq!(sizes(&growth, plan), [1 << 20, 1 << 19, 1 << 18, 1 << 17, 100_000]);
        assert_eq!(sizes(&growth, Plan { wanted_bytes: 5, least_bytes: 5 }), [5]);
        growth.add_pool(plan, &area(1 << 18));
        assert_eq!(growth.plan(100_000).map(|plan| plan.wanted_bytes), Some(1 << 18), "there was no more");
    }

    #[test]
    fn a_first_request_larger_than_the_first_pool_enlarges_it() {
        check(growth(4096, 4096, 0), &[10_000, 10], &[Some(16_384), Some(4096)]);
        check(growth(4096, 4096, 0), &[1 << 63, 10], &[Some(1 << 63), Some(4096)]);
        check(growth(4096, 4096, 0), &[(1 << 63) + 1, 10], &[None, Some(4096)]);
    }
}
