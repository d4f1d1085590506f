//! What another heap than glibc's keeps, told from the outside: a program whose answer is known, under each of them.

use crate::foreign_heaps::installed;
use crate::memory::{MIB, Memory, Pages, about};
use crate::support::Place;

/// What `any_heap` of `pages.c` holds: 200 blocks of 200 bytes, one of 3,000,000 and one of 100,000.
const LIVE: u64 = 200 * 200 + 3_000_000 + 100_000;

/// The parts are what the kernel counts, the program's own memory is none of the heap's, and the heap has its name.
fn assert_of(memory: &Memory, rss: u64, name: &str) {
    memory.assert_sums_to(rss);
    assert_eq!(memory.0["heap"]["name"], name);
    about(memory.part("live"), LIVE, 3);
    about(memory.part("other_anonymous"), 8 * MIB, 2);
    let free = ["free_in_used_pages", "free_pages", "free_pages_at_top", "free_arenas"];
    let kept: u64 = free.iter().map(|part| memory.part(part)).sum();
    assert_eq!(memory.0["heap"]["kept_bytes"].as_u64(), Some(kept), "{:?}", memory.0["parts"]);
    assert!(kept > 3 * MIB, "{:?}", memory.0["parts"]);
}

/// The program's own memory lies in one mapping with the newest pool.
#[test]
fn pools_have_what_the_heap_counts_itself() {
    let place = Place::new();
    let pages = Pages::start(&place, "shared_mapping", &["--heap", "tlsf", "--pool", "4MiB"]);
    let memory = pages.memory();
    assert_of(&memory, pages.rss(), "tlsf");
    let heap = &memory.0["heap"];
    let pools = heap["pools"].as_array().unwrap();
    assert!(pools.len() > 1, "{heap}");
    let figures = |name: &str| pools.iter().map(|pool| pool[name].as_u64().unwrap()).collect::<Vec<_>>();
    let sum = |name: &str| figures(name).iter().sum::<u64>();
    let counted = |name: &str| heap["counts"][name].as_u64().unwrap();
    assert_eq!((sum("pool_bytes"), pools.len() as u64), (counted("pool_bytes"), counted("pools")));
    // The heap was there before the recorder, and has blocks of its own and of the loader.
    about(sum("used_bytes"), counted("used_bytes"), 1);
    about(sum("blocks"), counted("blocks"), 10);
    assert_eq!(figures("largest_free_bytes").into_iter().max(), Some(counted("largest_free_bytes")));
    assert!((1..=counted("free_blocks")).contains(&sum("free_blocks")), "{heap}");
    assert!(counted("peak_bytes") > 12_000_000 && sum("cached_bytes") < 128 << 10, "{heap}");
    assert_eq!(sum("free_bytes"), sum("pool_bytes") - sum("used_bytes"));
    pages.end();
}

#[test]
fn what_other_heaps_keep_is_theirs() {
    let names = [("libjemalloc", "jemalloc"), ("libmimalloc", "mimalloc"), ("libtcmalloc", "tcmalloc")];
    for heap in installed() {
        let file = heap.file_name().unwrap().to_string_lossy().into_owned();
        let Some((_, name)) = names.iter().find(|(library, _)| file.starts_with(library)) else { continue };
        let place = Place::new();
        let pages = Pages::start_under(&place, "any_heap", &[], Some(&heap));
        let memory = pages.memory();
        assert_of(&memory, pages.rss(), name);
        assert!(memory.part("rounding") > 0 || *name == "tcmalloc", "{:?}", memory.0["parts"]);
        pages.end();
    }
}
