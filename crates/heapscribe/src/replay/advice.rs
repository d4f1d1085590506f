//! `replay --advice`: which setting of the heap, or which other heap, would keep least memory. The recorded calls are made
//! again by as many threads as made them, one call at a time, with each setting in a process of its own; memory is measured
//! and nothing else.

use std::path::{Path, PathBuf};

use heapscribe_replay::{Moment, Touch};
use serde::Serialize;

use super::child::{Look, Task, measure};
use super::chosen::Chosen;
use super::prepare::Prepared;
use super::subject::Subject;
use super::trim::Trim;

/// Where Debian, Fedora and Arch put shared libraries.
const LIBRARY_DIRS: [&str; 4] = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"];
/// Heaps that are looked for there: by name, the file that the linker or the loader knows.
const OTHER_HEAPS: [(&str, &[&str]); 3] = [
    ("jemalloc", &["libjemalloc.so.2"]),
    ("mimalloc", &["libmimalloc.so.2", "libmimalloc.so.3", "libmimalloc.so"]),
    ("tcmalloc", &["libtcmalloc_minimal.so.4", "libtcmalloc.so.4"]),
];
/// A setting that is tried.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Setting {
    /// What it is.
    pub(crate) name: String,
    /// What to type or to call for it; nothing for the way it is.
    pub(crate) to_type: String,
    pub(crate) heap: Subject,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) trim: Trim,
}

impl Setting {
    fn variable(name: &str, variable: &str, value: &str) -> Setting {
        Setting {
            name: name.to_owned(),
            to_type: format!("{variable}={value}"),
            heap: Subject::System,
            environment: vec![(variable.to_owned(), value.to_owned())],
            trim: Trim::Never,
        }
    }

    fn trimmed(name: &str, to_type: &str, trim: Trim) -> Setting {
        let (name, to_type) = (name.to_owned(), to_type.to_owned());
        Setting { name, to_type, heap: Subject::System, environment: Vec::new(), trim }
    }
}

/// The settings that are tried with a program of so many threads and marks, the way it is first.
pub(crate) fn settings(threads: usize, marks: u64) -> Vec<Setting> {
    let mut all = vec![Setting::trimmed("glibc as it is", "", Trim::Never)];
    if threads > 1 {
        all.push(Setting::variable("one arena", "MALLOC_ARENA_MAX", "1"));
        all.push(Setting::variable("two arenas", "MALLOC_ARENA_MAX", "2"));
    }
    all.push(Setting::variable("fixed mmap threshold", "MALLOC_MMAP_THRESHOLD_", "131072"));
    all.push(Setting::variable("low mmap threshold", "MALLOC_MMAP_THRESHOLD_", "32768"));
    all.push(Setting::variable("fixed trim threshold", "MALLOC_TRIM_THRESHOLD_", "131072"));
    all.push(Setting::variable("no thread caches", "GLIBC_TUNABLES", "glibc.malloc.tcache_count=0"));
    all.push(Setting::trimmed("trimmed at the end", "malloc_trim(0) when the work is done", Trim::AtEnd));
    all.push(Setting::trimmed("trimmed now and then", "malloc_trim(0) from time to time", Trim::Often));
    if marks > 0 {
        let to_type = "malloc_trim(0) at each mark and at the end of each section";
        all.push(Setting::trimmed("trimmed at marks", to_type, Trim::AtMarks));
    }
    for (name, library) in installed() {
        let to_type = format!("LD_PRELOAD={}", library.display());
        all.push(Setting {
            name: name.to_owned(),
            to_type,
            heap: Subject::Library(library),
            ..all[0].clone()
        });
    }
    let to_type = "heapscribe run --heap tlsf -- COMMAND".to_owned();
    all.push(Setting { name: "tlsf".to_owned(), to_type, heap: Subject::Tlsf, ..all[0].clone() });
    all
}

/// Other heaps of this machine.
fn installed() -> impl Iterator<Item = (&'static str, PathBuf)> {
    OTHER_HEAPS.iter().filter_map(|(name, files)| {
        let paths = files.iter().flat_map(|file| LIBRARY_DIRS.map(|dir| Path::new(dir).join(file)));
        let found = paths.filter_map(|path| path.canonicalize().ok()).find(|path| path.is_file())?;
        Some((*name, found))
    })
}

/// The results of all settings, the best first.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Advice {
    /// Changes when a key changes its name or meaning.
    pub(crate) format: u32,
    pub(crate) process: Chosen,
    pub(crate) threads: usize,
    /// Threads that replayed: fewer where there were very many.
    pub(crate) replayed_threads: u64,
    pub(crate) calls: u64,
    pub(crate) peak_live_bytes: u64,
    pub(crate) left_bytes: u64,
    pub(crate) settings: Vec<Tried>,
}

/// The result of a setting.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub(crate) struct Tried {
    pub(crate) name: String,
    pub(crate) to_type: String,
    /// Whether it is the way it is now.
    pub(crate) is_baseline: bool,
    /// Why there are no results; none when there are.
    pub(crate) error: Option<String>,
    /// Requests that got nothing.
    pub(crate) failures: u64,
    /// The most anonymous memory.
    pub(crate) peak_bytes: u64,
    /// Of the time until the end, the mean.
    pub(crate) mean_bytes: u64,
    /// After the last call.
    pub(crate) final_bytes: u64,
}

/// Tries all settings.
pub(crate) fn advise(chosen: Chosen, prepared: &Prepared, touch: Touch) -> Advice {
    let compiled = &prepared.compiled;
    let settings = settings(prepared.threads, compiled.marks);
    let mut tried: Vec<Tried> = settings.iter().map(|of| try_one(of, prepared, touch)).collect();
    tried[0].is_baseline = true;
    // What has no result is last; of two that keep the same the one with the lower peak is better.
    tried.sort_by_key(|of| (of.error.is_some(), of.failures > 0, of.final_bytes, of.peak_bytes));
    Advice {
        format: 1,
        process: chosen,
        threads: prepared.threads,
        replayed_threads: compiled.threads,
        calls: compiled.allocs + compiled.frees + compiled.reallocs,
        peak_live_bytes: prepared.peak_live().0,
        left_bytes: compiled.left_bytes,
        settings: tried,
    }
}

fn try_one(setting: &Setting, prepared: &Prepared, touch: Touch) -> Tried {
    let (name, to_type) = (setting.name.clone(), setting.to_type.clone());
    let tried = Tried { name, to_type, ..Tried::default() };
    let task = Task {
        heap: setting.heap.clone(),
        look: Look::Memory,
        touch,
        pool_bytes: POOL_BYTES,
        grow_bytes: GROW_BYTES,
        slots: prepared.compiled.slots,
        moments: prepared.compiled.moments,
        threads: prepared.compiled.threads,
        trim: setting.trim,
        environment: setting.environment.clone(),
    };
    match measure(&task, prepared) {
        Err(e) => Tried { error: Some(format!("{e:#}")), ..tried },
        Ok(found) => {
            let footprint = found.footprint.unwrap_or_default();
            let bytes = |moment: &Moment| moment.footprint_bytes;
            let sum: u128 = footprint.moments.iter().map(|moment| u128::from(bytes(moment))).sum();
            Tried {
                failures: found.outcome.failures,
                peak_bytes: footprint.peak_bytes,
                mean_bytes: (sum / footprint.moments.len().max(1) as u128) as u64,
                final_bytes: footprint.moments.last().map_or(0, bytes),
                ..tried
            }
        }
    }
}

/// The pool heap as `run --heap tlsf` has it.
const POOL_BYTES: u64 = 64 << 20;
const GROW_BYTES: u64 = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_it_is_comes_first_and_arenas_only_with_threads() {
        let names = |threads| settings(threads, 0).into_iter().map(|of| of.name).collect::<Vec<_>>();
        assert_eq!(names(1)[..2], ["glibc as it is", "fixed mmap threshold"]);
        assert_eq!(names(2)[..3], ["glibc as it is", "one arena", "two arenas"]);
        assert!(settings(1, 1).iter().skip(1).all(|of| !of.to_type.is_empty()));
        assert_eq!(
            settings(1, 1).len(),
            settings(1, 0).len() + 1,
            "what has no marks cannot be trimmed at them"
        );
    }
}
