//! The pool heap under a program, configured by environment variables of ours or of heaphook's.
#![allow(unsafe_code)]

use heapscribe_alloc::locked::{Config, PageOptions, TlsfHeap};
use heapscribe_interpose::{Heap as _, Line, Start, export, setting};
use heapscribe_nolibc::sys;

export! {
    static HEAP: TlsfHeap = TlsfHeap::new(DEFAULT);
    start = start;
    glibc;
}

fn start(heap: &'static TlsfHeap) -> Start {
    let config = configuration();
    heap.configure(config);
    HEAP.describe(Line::blank().text(b"tlsf"), description(&config));
    HEAP.describe_pools(heap.pools_address());
    let has_started = heap.start();
    let stats = heap.stats();
    if !has_started || stats.pool_bytes < config.pool_bytes as u64 / 2 {
        let line = Line::new().text(b"a pool of ").number(config.pool_bytes as u64);
        line.text(b" bytes can not be had; the program keeps the heap that it has").print();
        return Start::Pass;
    }
    Start::Ready
}

/// The configuration without any variable: under heaphook's name, what it was there, with all pages from the start.
const DEFAULT: Config = if cfg!(feature = "heaphook") {
    let pages = PageOptions { prefault: true, ..Config::DEFAULT.pages };
    Config { pool_bytes: 100_000_000, grow_bytes: 100_000_000, pages, ..Config::DEFAULT }
} else {
    Config::DEFAULT
};

/// Our variables override heaphook's.
fn configuration() -> Config {
    // What was not asked for adapts to `ulimit -v`: a program that just fits into it has to fit with this heap, too.
    let default = match usize::try_from(sys::address_space_limit()) {
        Ok(limit) if limit < isize::MAX as usize => DEFAULT.within_address_space(limit),
        _ => DEFAULT,
    };
    let Config { pool_bytes, grow_bytes, max_bytes, pages, .. } = default;
    let pool_bytes = setting::bytes(c"INITIAL_MEMPOOL_SIZE", pool_bytes);
    let grow_bytes = setting::bytes(c"ADDITIONAL_MEMPOOL_SIZE", grow_bytes);
    let config = Config {
        pool_bytes: setting::size(c"HEAPSCRIBE_POOL", pool_bytes),
        grow_bytes: setting::size(c"HEAPSCRIBE_POOL_GROW", grow_bytes),
        max_bytes: setting::size(c"HEAPSCRIBE_POOL_MAX", max_bytes),
        pages: PageOptions {
            prefault: setting::flag(c"HEAPSCRIBE_POOL_PREFAULT", pages.prefault),
            lock: setting::flag(c"HEAPSCRIBE_POOL_LOCK", pages.lock),
            huge_pages: setting::flag(c"HEAPSCRIBE_POOL_HUGE_PAGES", pages.huge_pages),
        },
        ..default
    }
    .with_default_caches();
    // Who says how much a thread may cache has counted the threads.
    match setting::size(c"HEAPSCRIBE_POOL_CACHE", config.cache_bytes) {
        cache_bytes if cache_bytes == config.cache_bytes => config,
        cache_bytes => Config { cache_bytes, caches_bytes: 0, ..config },
    }
}

fn description(config: &Config) -> Line {
    let flag = |is_set: bool| if is_set { b"yes".as_slice() } else { b"no" };
    let Config { pool_bytes, grow_bytes, max_bytes, cache_bytes, pages, .. } = config;
    let line =
        Line::blank().text(b"pool=").number(*pool_bytes as u64).text(b" grow=").number(*grow_bytes as u64);
    let line = line.text(b" cache=").number(*cache_bytes as u64);
    let line = line.text(b" max=").number(*max_bytes as u64).text(b" prefault=").text(flag(pages.prefault));
    line.text(b" lock=").text(flag(pages.lock)).text(b" huge_pages=").text(flag(pages.huge_pages))
}
