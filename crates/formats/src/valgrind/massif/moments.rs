//! The moments of a file: when each was, how large the heap was, where its tree begins, and whether all are whole.

use std::borrow::Cow;

use crate::profile::ProfileError;

/// What the root of a tree is called where pages of memory were counted and not blocks of the heap.
const PAGES: &str = "(page allocation syscalls)";

/// A moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Moment {
    /// When it was, in the file's unit.
    pub(super) time: u64,
    /// How large the heap was.
    pub(super) heap_bytes: u64,
    /// The line that its tree begins in, if it has one that is whole.
    pub(super) tree: Option<u64>,
}

/// Where a file is cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cut {
    pub(super) bytes: usize,
    pub(super) line: u64,
}

/// What a file says besides its trees.
#[derive(Debug, Default)]
pub(super) struct Moments {
    pub(super) command: String,
    pub(super) time_unit: String,
    /// Whether it is of pages, `--pages-as-heap=yes`.
    pub(super) counts_pages: bool,
    pub(super) all: Vec<Moment>,
    pub(super) cut: Option<Cut>,
    part: Part,
}

/// Where in the file a line stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Part {
    /// Before the first moment, or behind one.
    #[default]
    Between,
    /// In a moment, before it says whether it has a tree.
    Moment { time: u64, has_bytes: bool },
    /// In a tree that begins in this line, with so many lines to come.
    Tree { first: u64, to_come: u64 },
}

impl Moments {
    /// Those of a file.
    ///
    /// # Errors
    /// When it is damaged.
    pub(super) fn read(bytes: &[u8]) -> Result<Moments, ProfileError> {
        let mut moments = Moments::default();
        // The last line is whole when a line's end is behind it.
        let whole_lines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        let mut last = 1;
        for (number, line) in lines(bytes) {
            last = number;
            let is_whole = number <= whole_lines || line == "heap_tree=empty";
            if !is_whole && !line.is_empty() {
                moments.cut = Some(Cut { bytes: bytes.len(), line: number });
                break;
            }
            if is_whole {
                moments.line(number, &line).map_err(|what| ProfileError::in_line(number, what))?;
            }
        }
        if moments.part != Part::Between {
            moments.cut = Some(Cut { bytes: bytes.len(), line: last });
        }
        Ok(moments)
    }

    fn line(&mut self, number: u64, line: &str) -> Result<(), String> {
        if let Part::Tree { first, to_come } = self.part {
            return self.call(first, to_come, line);
        }
        let (key, value) = line.split_once(['=', ':']).unwrap_or((line, ""));
        let value = value.trim();
        match (key, self.part) {
            ("cmd", _) => value.clone_into(&mut self.command),
            ("time_unit", _) => value.clone_into(&mut self.time_unit),
            ("snapshot", _) => self.part = Part::Moment { time: 0, has_bytes: false },
            ("time", Part::Moment { has_bytes, .. }) => {
                let time = value.parse().map_err(|_| "no time of a moment")?;
                self.part = Part::Moment { time, has_bytes };
            }
            ("mem_heap_B", part) => {
                let heap_bytes = value.parse().map_err(|_| "no number of bytes")?;
                let time = if let Part::Moment { time, .. } = part { time } else { 0 };
                self.all.push(Moment { time, heap_bytes, tree: None });
                self.part = Part::Moment { time, has_bytes: true };
            }
            ("heap_tree", part) => {
                if !matches!(part, Part::Moment { has_bytes: true, .. }) {
                    return Err("a tree of a moment without a number of bytes".to_owned());
                }
                let first = number + 1;
                self.part = if value == "empty" { Part::Between } else { Part::Tree { first, to_come: 1 } };
            }
            _ => {}
        }
        Ok(())
    }

    /// A line of a tree.
    fn call(&mut self, first: u64, to_come: u64, line: &str) -> Result<(), String> {
        let (callers, _, text) = call(line.trim_start_matches(' ')).ok_or("no line of a tree")?;
        self.counts_pages |= text.starts_with(PAGES);
        let to_come = (to_come - 1).saturating_add(callers);
        self.part = Part::Tree { first, to_come };
        if to_come == 0 {
            self.part = Part::Between;
            if let Some(moment) = self.all.last_mut() {
                moment.tree = Some(first);
            }
        }
        Ok(())
    }
}

/// The lines of a file, from 1.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = (u64, Cow<'_, str>)> {
    (1..).zip(bytes.split(|byte| *byte == b'\n').map(String::from_utf8_lossy))
}

/// The callers that follow, the bytes and the rest of a line of a tree, `n2: 52288 0x109162: make (blocks.c:5)`.
pub(super) fn call(line: &str) -> Option<(u64, u64, &str)> {
    let (callers, rest) = line.strip_prefix('n')?.split_once(": ")?;
    let (bytes, text) = rest.split_once(' ')?;
    Some((callers.parse().ok()?, bytes.parse().ok()?, text))
}
