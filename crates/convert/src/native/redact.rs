//! Redacted names: equal names stay equal, and the key that they were hashed with is thrown away.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use heapscribe_formats::memtrace::{Info, Location, Locations};

use heapscribe_symbols::places;

/// Hashes names with a key of its own.
#[derive(Default)]
pub struct Redactor {
    key: RandomState,
}

impl Redactor {
    /// A redactor with a new random key.
    pub fn new() -> Redactor {
        Redactor::default()
    }

    /// What stands for a name; the empty name stays empty.
    pub fn name(&self, name: &[u8]) -> Vec<u8> {
        if name.is_empty() { Vec::new() } else { format!("x{:016x}", self.key.hash_one(name)).into_bytes() }
    }

    /// The same for the path of a module, which may be a place in source text and stays one.
    pub fn path(&self, path: &[u8]) -> Vec<u8> {
        let shown = String::from_utf8_lossy(path);
        let Some(mut frames) = places::frames(&shown) else { return self.name(path) };
        let text = |name: &str| String::from_utf8_lossy(&self.name(name.as_bytes())).into_owned();
        for frame in &mut frames {
            (frame.function, frame.file) = (text(&frame.function), text(&frame.file));
        }
        places::path_of(&frames).into_bytes()
    }

    /// The header of a memtrace file with other names.
    pub fn info(&self, info: &Info) -> Info {
        Info {
            executable: self.name(&info.executable),
            host: self.name(&info.host),
            runtime_params: self.name(&info.runtime_params),
            context: self.name(&info.context),
            ..info.clone()
        }
    }

    /// The same locations under other names.
    pub fn locations(&self, from: &Locations) -> Locations {
        let (mut to, mut names) = (Locations::default(), HashMap::new());
        for code in from.codes() {
            let frames = from.get(code).unwrap_or_default().iter().map(|frame| {
                let mut name = |old| *names.entry(old).or_insert_with(|| to.name(&self.name(from.text(old))));
                Location { file: name(frame.file), function: name(frame.function), ..*frame }
            });
            let frames: Vec<_> = frames.collect();
            to.set(code, &frames);
        }
        to
    }
}
