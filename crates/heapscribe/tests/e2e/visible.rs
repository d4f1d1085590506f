//! What a program can see of its recording, and that it is no more than the documentation says: `reference/limits.md`.

use std::collections::BTreeMap;

use crate::support::{Place, Run};

/// Files that are mapped, and how often.
fn mapped(maps: &str) -> BTreeMap<String, usize> {
    let mut files = BTreeMap::new();
    for line in maps.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert!(!words[1].contains("wx"), "it may be written and run: {line}");
        if let Some(file) = words.get(5) {
            *files.entry((*file).to_owned()).or_default() += 1;
        }
    }
    files
}

/// A reader of `/proc/self/maps` sees all that it sees without us, our library and the files of its session, nothing else.
#[test]
fn mappings() {
    let place = Place::new();
    let run = Run::new(&place, "cat").args(["/proc/self/maps"]);
    let [plain, recorded] = [run.plain(), run.recorded()].map(|ended| mapped(&ended.stdout));
    for (file, times) in &plain {
        assert_eq!(recorded.get(file), Some(times), "{file}");
    }
    let session = |name: &str| ["head", "defs", "live", "log", "threads"].contains(&name);
    for file in recorded.keys().filter(|file| !plain.contains_key(*file)) {
        let name = file.rsplit('/').next().unwrap();
        let is_ours = name.starts_with("libheapscribe_preload.") || session(name);
        assert!(is_ours && file.contains("heapscribe"), "{file}");
    }
}
