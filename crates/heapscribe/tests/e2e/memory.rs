//! Where resident memory is, and who keeps it: programs whose answer is known, compared with what the kernel counts, and
//! with what happens when the advice is followed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Place, Run, Started, heapscribe, skip, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

pub(crate) const PAGE: u64 = 4096;
pub(crate) const MIB: u64 = 1 << 20;

/// `pages.c`, which has sections.
pub(crate) fn compile(place: &Place) -> PathBuf {
    let header = heapscribe().arg("header").output().unwrap();
    fs::write(place.path("heapscribe.h"), header.stdout).unwrap();
    let include = format!("-I{}", place.path("").display());
    place.compile_with("cc", "pages.c", "pages", &[&include])
}

/// A program of `pages.c` that is ready to be looked at.
pub(crate) struct Pages<'a> {
    place: &'a Place,
    started: Started,
    pid: u32,
}

impl<'a> Pages<'a> {
    pub(crate) fn start(place: &'a Place, kind: &str, options: &[&str]) -> Pages<'a> {
        Pages::start_under(place, kind, options, None)
    }

    /// The same under another heap.
    pub(crate) fn start_under(
        place: &'a Place,
        kind: &str,
        options: &[&str],
        heap: Option<&Path>,
    ) -> Pages<'a> {
        let dir = place.path("sessions");
        fs::create_dir(&dir).unwrap();
        let run = Run::new(place, compile(place)).args([kind]).options(["--session-dir"]).options([&dir]);
        let tunables = if kind == "hoarded" { "glibc.malloc.tcache_count=60000" } else { "" };
        let mut run = run.options(options).env("GLIBC_TUNABLES", tunables);
        if let Some(heap) = heap {
            run = run.env("LD_PRELOAD", heap);
        }
        let started = run.start();
        until("the program is ready", || started.said().0.contains("ready"));
        let list = heapscribe().args(["ps", "--json", "--session-dir"]).arg(&dir).output().unwrap();
        let list: Value = serde_json::from_slice(&list.stdout).unwrap();
        Pages { place, started, pid: list[0]["pid"].as_u64().unwrap() as u32 }
    }

    /// The memory as a snapshot explains it, which is in `memory.hst` then.
    pub(crate) fn memory(&self) -> Memory {
        let file = self.place.path("memory.hst");
        let mut command = heapscribe();
        command.args(["snapshot", &self.pid.to_string(), "--pages", "--force", "-o"]).arg(&file);
        let ended = command.arg("--session-dir").arg(self.place.path("sessions")).output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
        let ended = heapscribe().args(["report", "--memory", "--json"]).arg(&file).output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
        Memory(serde_json::from_slice::<Value>(&ended.stdout).unwrap()["memory"].clone())
    }

    pub(crate) fn rss(&self) -> u64 {
        self.counted("Rss:")
    }

    /// What the kernel counts by a name.
    fn counted(&self, name: &str) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/smaps_rollup", self.pid)).unwrap();
        let kib = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        kib.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    /// What the recorder has of it: files of the session, and memory without a name that core dumps leave out.
    fn recorder_rss(&self) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/smaps", self.pid)).unwrap();
        let (mut sum, mut kib, mut path) = (0, 0, "");
        for line in text.lines() {
            let fields: Vec<_> = line.split_whitespace().collect();
            match fields[0] {
                "Rss:" => kib = fields[1].parse::<u64>().unwrap(),
                "VmFlags:" => {
                    let is_own = path.is_empty() && fields.contains(&"dd") || path.contains("/sessions/");
                    sum += if is_own { kib << 10 } else { 0 };
                }
                range if !range.ends_with(':') => path = fields.get(5).copied().unwrap_or_default(),
                _ => {}
            }
        }
        sum
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.pid as i32).unwrap(), signal).unwrap();
    }

    /// Frees what is to blame, and trims; by how much the resident size fell.
    pub(crate) fn follow_advice(&self) -> u64 {
        let before = self.rss();
        self.signal(Signal::USR1);
        until("the program has freed", || self.started.said().0.contains("freed"));
        before - self.rss()
    }

    pub(crate) fn end(self) {
        self.signal(Signal::USR2);
        assert_eq!(self.started.wait().code, 0);
    }
}

pub(crate) struct Memory(pub(crate) Value);

impl Memory {
    pub(crate) fn number(&self, key: &str) -> u64 {
        self.0[key].as_u64().unwrap()
    }

    pub(crate) fn part(&self, name: &str) -> u64 {
        let parts = self.0["parts"].as_array().unwrap();
        parts.iter().find(|part| part["name"] == name).map_or(0, |part| part["bytes"].as_u64().unwrap())
    }

    /// What is in lists of a kind, as bytes and bytes in pages without blocks.
    fn list(&self, name: &str) -> (u64, u64) {
        let parts = self.0["lists"]["parts"].as_array().unwrap();
        let part = parts.iter().find(|part| part["name"] == name).unwrap();
        let number = |key: &str| part[key].as_u64().unwrap();
        (number("bytes"), number("in_free_pages_bytes"))
    }

    /// All lists were read, and what is free is in them.
    fn assert_listed(&self) {
        assert_eq!(self.0["lists"]["read"], "whole");
        let free = ["free_in_used_pages", "free_pages", "free_pages_at_top", "free_arenas"];
        let free: u64 = free.iter().map(|part| self.part(part)).sum();
        let unlisted = self.0["lists"]["unlisted_bytes"].as_u64().unwrap();
        assert!(unlisted <= free / 100 + PAGE, "{unlisted} of {free}: {:?}", self.0["lists"]);
    }

    /// The stack that has most, which must be that of `keep`.
    pub(crate) fn first(&self) -> &Value {
        let first = &self.0["pinned"][0];
        let functions: Vec<_> =
            first["stack"].as_array().unwrap().iter().map(|frame| &frame["function"]).collect();
        assert!(functions.iter().any(|name| *name == "keep"), "{functions:?}");
        first
    }

    /// What comes back by trimming, and when the blocks of the first stack are freed.
    fn promised(&self) -> u64 {
        self.number("trim_bytes") + self.first()["with_previous_bytes"].as_u64().unwrap()
    }

    /// The parts are all of what the kernel counts.
    pub(crate) fn assert_sums_to(&self, rss: u64) {
        let sum: u64 =
            self.0["parts"].as_array().unwrap().iter().map(|part| part["bytes"].as_u64().unwrap()).sum();
        assert_eq!(sum, self.number("resident_bytes"));
        assert!(sum.abs_diff(rss) * 100 <= rss, "{sum} {rss}");
        assert!(self.part("unexplained") * 100 <= rss, "{:?}", self.0["parts"]);
    }
}

pub(crate) fn about(found: u64, expected: u64, percent: u64) {
    assert!(found.abs_diff(expected) * 100 <= expected * percent, "{found}, expected about {expected}");
}

#[test]
fn every_hundredth_block_keeps_its_page() {
    let place = Place::new();
    let pages = Pages::start(&place, "hundredth", &[]);
    let memory = pages.memory();
    memory.assert_sums_to(pages.rss());
    about(memory.part("recorder"), pages.recorder_rss(), 1);
    let first = memory.first();
    assert_eq!((first["blocks"].as_u64(), first["live_bytes"].as_u64()), (Some(2_000), Some(400_000)));
    // One block in 5 pages; of 208 bytes, so that one in 20 lies in two.
    about(first["resident_bytes"].as_u64().unwrap(), 2_100 * PAGE, 3);
    assert!(memory.part("free_pages") > 28 * MIB);
    assert_eq!(memory.0["tops"][0]["heap"], "brk");
    about(pages.follow_advice(), memory.promised(), 2);
    assert!(pages.memory().0["pinned"].as_array().unwrap().len() <= 1);
    pages.end();
}

#[test]
fn small_blocks_between_large_ones_keep_all_pages() {
    let place = Place::new();
    let pages = Pages::start(&place, "interleaved", &[]);
    let memory = pages.memory();
    memory.assert_sums_to(pages.rss());
    let first = memory.first();
    assert_eq!((first["blocks"].as_u64(), first["live_bytes"].as_u64()), (Some(8_000), Some(4_000_000)));
    let all = 8_000 * (512 + 3_008);
    about(first["resident_bytes"].as_u64().unwrap() + memory.part("free_pages"), all, 1);
    about(pages.follow_advice(), memory.promised(), 2);
    pages.end();
}

/// Where there are no huge pages each of the 30 blocks keeps one of 4 KiB, and the skipped part says so.
#[test]
fn a_chain_of_reallocs_and_huge_pages_come_back_as_promised() {
    for kind in ["chain", "huge"] {
        let place = Place::new();
        let pages = Pages::start(&place, kind, &[]);
        let memory = pages.memory();
        memory.assert_sums_to(pages.rss());
        let (first, huge_bytes) = (memory.first(), pages.counted("AnonHugePages:"));
        let keeps = first["resident_bytes"].as_u64().unwrap();
        match kind {
            "huge" if huge_bytes == 0 => skip("the kernel has no huge pages to give"),
            // Each block keeps a page of 2 MiB, as far as these are of the heap and beside no other block of it.
            "huge" => assert!(keeps > huge_bytes / 2 && keeps > 20 * 2 * MIB, "{keeps} of {huge_bytes}"),
            _ => {}
        }
        assert!(kind == "chain" || first["blocks"] == 30, "{first}");
        assert!(memory.promised() > 28 * MIB, "{kind}");
        about(pages.follow_advice(), memory.promised(), 2);
        pages.end();
    }
}

#[test]
fn a_cache_in_the_middle_keeps_what_is_below_it() {
    let place = Place::new();
    let pages = Pages::start(&place, "middle", &[]);
    let memory = pages.memory();
    memory.assert_sums_to(pages.rss());
    about(memory.part("free_pages"), 20_000 * 1_008, 1);
    about(memory.part("live"), 10_000 * 1_000, 1);
    assert_eq!(memory.part("free_pages_at_top") / MIB, 0);
    let top = &memory.0["tops"][0];
    assert_eq!((top["heap"].as_str(), top["size_bytes"].as_u64()), (Some("brk"), Some(1_000)));
    assert_eq!(top["below_bytes"].as_u64().unwrap(), memory.part("free_pages"));
    // Its pages are full: nobody is to blame for nearly empty ones.
    assert!(memory.number("pinned_bytes") < MIB / 8, "{}", memory.number("pinned_bytes"));
    about(pages.follow_advice(), 30_000 * 1_008, 1);
    pages.end();
}

#[test]
fn blocks_with_mappings_of_their_own_have_tails() {
    let place = Place::new();
    let pages = Pages::start(&place, "mapped", &[]);
    let memory = pages.memory();
    memory.assert_sums_to(pages.rss());
    assert_eq!(memory.part("live"), 50 * 200_000);
    assert_eq!(memory.part("mapped_tails"), 50 * (49 * PAGE - 200_000));
    assert_eq!(memory.number("pinned_bytes"), 0);
    assert!(memory.0["coverage"].as_f64().unwrap() > 0.95);
    about(pages.follow_advice(), 50 * 49 * PAGE, 1);
    pages.end();
}

/// Seven blocks of each of 64 sizes.
const CACHED: u64 = 7 * 16 * (2 + 65) * 64 / 2;

#[test]
fn free_memory_is_in_the_lists_that_glibc_has_it_in() {
    let place = Place::new();
    let pages = Pages::start(&place, "lists", &[]);
    let said = pages.started.said().0;
    let memory = pages.memory();
    memory.assert_sums_to(pages.rss());
    memory.assert_listed();
    assert_eq!(memory.list("thread_caches").0, CACHED);
    // mallinfo counts what is in fast bins, in all bins and the top, and of that the top.
    let info = said.lines().find_map(|line| line.split("mallinfo ").nth(1)).unwrap();
    let info: Vec<u64> = info.split(' ').map(|number| number.parse().unwrap()).collect();
    let [free, fast, top] = info[..] else { panic!("{info:?}") };
    assert_eq!((memory.list("fast_bins").0, fast), (80_000, 80_000));
    assert_eq!(memory.list("bins").0, free - fast - top);
    assert!(memory.list("bins").0 >= 100 * 2_016);
    // What of the top was never written to is not in memory.
    assert!((100 * 100_016..=top).contains(&memory.list("top").0), "{:?} {top}", memory.list("top"));
    about(pages.follow_advice(), memory.promised(), 2);
    pages.end();
}

#[test]
fn each_thread_has_a_cache() {
    let place = Place::new();
    let pages = Pages::start(&place, "hoarders", &[]);
    let memory = pages.memory();
    memory.assert_sums_to(pages.rss());
    memory.assert_listed();
    about(memory.list("thread_caches").0, 64 * CACHED, 1);
    pages.end();
}

#[test]
fn what_a_thread_caches_is_not_said_to_come_back() {
    let place = Place::new();
    let pages = Pages::start(&place, "hoarded", &[]);
    let memory = pages.memory();
    memory.assert_sums_to(pages.rss());
    memory.assert_listed();
    let (cached, in_free_pages) = memory.list("thread_caches");
    about(cached, 40_000 * 1_008, 1);
    about(in_free_pages, memory.part("free_pages"), 1);
    // 40 MB of free pages, and trimming gives nothing back.
    assert!(memory.part("free_pages") > 38 * MIB);
    assert!(memory.number("trim_bytes") < MIB, "{}", memory.number("trim_bytes"));
    assert!(pages.follow_advice() < MIB);
    pages.end();
}

#[test]
fn threads_that_ended_leave_arenas() {
    let place = Place::new();
    let pages = Pages::start(&place, "arenas", &[]);
    let memory = pages.memory();
    memory.assert_sums_to(pages.rss());
    memory.assert_listed();
    assert_eq!(memory.first()["blocks"].as_u64(), Some(64));
    assert!(memory.part("free_pages") > 20 * MIB, "{:?}", memory.0["parts"]);
    let tops = memory.0["tops"].as_array().unwrap();
    assert!(tops.iter().any(|top| top["heap"] == "arena" && top["size_bytes"] == 100), "{tops:?}");
    about(pages.follow_advice(), memory.promised(), 5);
    pages.end();
}

#[test]
fn memory_that_the_heap_does_not_know_lowers_the_coverage() {
    let place = Place::new();
    let pages = Pages::start(&place, "own_mapping", &[]);
    let memory = pages.memory();
    memory.assert_sums_to(pages.rss());
    about(memory.part("other_anonymous"), 32 * MIB, 2);
    about(memory.0["others"][0]["resident_bytes"].as_u64().unwrap(), 32 * MIB, 1);
    assert!(memory.0["coverage"].as_f64().unwrap() < 0.1);
    pages.end();
}

#[test]
fn of_samples_the_heap_is_one_part_and_nobody_is_charged() {
    let place = Place::new();
    let pages = Pages::start(&place, "hundredth", &["--sample", "4KiB"]);
    let memory = pages.memory();
    memory.assert_sums_to(pages.rss());
    assert_eq!(memory.0["sampled"], true);
    assert!(memory.part("sampled_heap") > 30 * MIB);
    assert_eq!((memory.part("live"), memory.0["pinned"].as_array().unwrap().len()), (0, 0));
    pages.end();
}

#[test]
fn what_has_no_pages_says_how_to_get_them() {
    let place = Place::new();
    let pages = Pages::start(&place, "mapped", &[]);
    let file = place.path("plain.hst");
    let mut command = heapscribe();
    command.args(["snapshot", &pages.pid.to_string(), "-o"]).arg(&file);
    assert!(command.arg("--session-dir").arg(place.path("sessions")).status().unwrap().success());
    for words in [&["report", "--memory"][..], &["flame", "--metric", "pinned", "-o", "pinned.svg"]] {
        let ended = heapscribe().args(words).arg(&file).current_dir(place.path("")).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(1), "{said}");
        assert!(
            said.contains("does not say which pages") && said.contains("snapshot PID --pages -o FILE"),
            "{said}"
        );
    }
    pages.end();
}
