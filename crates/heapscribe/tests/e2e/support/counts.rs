//! Numbers of calls: as a program counted them itself, and as a trace has them.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{BufRead, BufReader};
use std::ops::Sub;
use std::path::Path;
use std::process::Stdio;

use serde::Deserialize;
use serde_json::Value;

use super::heapscribe;

/// Calls by kind.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Calls {
    pub malloc: u64,
    pub calloc: u64,
    pub realloc: u64,
    pub aligned: u64,
    pub free: u64,
}

impl Calls {
    pub fn all(self) -> u64 {
        self.malloc + self.calloc + self.realloc + self.aligned + self.free
    }

    pub(super) fn of_json(json: &Value) -> Calls {
        let n = |kind: &str| json[kind].as_u64().unwrap();
        let calls = Calls {
            malloc: n("malloc"),
            calloc: n("calloc"),
            realloc: n("realloc"),
            aligned: n("aligned"),
            free: n("free"),
        };
        assert_eq!(n("total"), calls.all());
        calls
    }

    /// What a program says that it made, in a line of its output.
    pub fn counted(stdout: &str) -> Calls {
        let line = stdout.lines().find_map(|line| line.strip_prefix("counts ")).unwrap();
        let words: Vec<u64> = line.split(' ').map(|n| n.parse().unwrap()).collect();
        Calls::of_words(words.try_into().unwrap())
    }

    fn of_words(words: [u64; 5]) -> Calls {
        let [malloc, calloc, realloc, aligned, free] = words;
        Calls { malloc, calloc, realloc, aligned, free }
    }

    fn add(&mut self, call: &str) {
        *match call {
            "malloc" => &mut self.malloc,
            "calloc" => &mut self.calloc,
            "realloc" | "reallocarray" => &mut self.realloc,
            "posix_memalign" | "aligned_alloc" | "memalign" | "valloc" | "pvalloc" => &mut self.aligned,
            _ => &mut self.free,
        } += 1;
    }
}

impl Sub for Calls {
    type Output = Calls;

    #[track_caller]
    fn sub(self, other: Calls) -> Calls {
        let minus = |a: u64, b: u64| a.checked_sub(b).unwrap_or_else(|| panic!("{self:?} - {other:?}"));
        Calls {
            malloc: minus(self.malloc, other.malloc),
            calloc: minus(self.calloc, other.calloc),
            realloc: minus(self.realloc, other.realloc),
            aligned: minus(self.aligned, other.aligned),
            free: minus(self.free, other.free),
        }
    }
}

/// The file in which a program counts, see `programs/counted.h`.
#[derive(Debug)]
pub struct Counted {
    /// Its own pid; 0 before it has begun.
    pub pid: u32,
    /// It has made all its calls.
    pub is_done: bool,
    pub calls: Calls,
}

impl Counted {
    /// Reads the file, which may not be there yet.
    pub fn read(path: &Path) -> Counted {
        let bytes = fs::read(path).unwrap_or_default();
        let slots: Vec<[u64; 5]> = bytes.chunks_exact(64).map(words).collect();
        let head = slots.first().copied().unwrap_or_default();
        let sum = slots.iter().skip(1).fold([0; 5], |sum, slot| std::array::from_fn(|i| sum[i] + slot[i]));
        Counted { pid: head[1] as u32, is_done: head[2] == 1, calls: Calls::of_words(sum) }
    }
}

fn words(slot: &[u8]) -> [u64; 5] {
    std::array::from_fn(|i| u64::from_le_bytes(slot[8 * i..8 * i + 8].try_into().unwrap()))
}

/// Calls that the code of `program` made itself, from `dump --json`: the innermost frame of the call, or
/// for a free that of the block's birth, lies in it. Frees of blocks not known count too.
pub fn own_calls(trace: &Path, program: &Path) -> Calls {
    let mut dump = heapscribe()
        .args(["dump", "--json"])
        .arg(trace)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut own = Own { program: program.to_str().unwrap().to_owned(), ..Own::default() };
    for line in BufReader::new(dump.stdout.take().unwrap()).lines() {
        own.line(&serde_json::from_str(&line.unwrap()).unwrap());
    }
    dump.wait().unwrap();
    own.calls
}

#[derive(Default)]
struct Own {
    program: String,
    /// Address ranges of the program, by process.
    ranges: BTreeMap<u64, Vec<(u64, u64)>>,
    /// Whether the innermost frame of a stack is the program's, by process and stack.
    stacks: HashMap<(u64, u64), bool>,
    calls: Calls,
}

/// What is needed of a line: a `Value` of each takes three times as long.
#[derive(Deserialize)]
struct Line<'l> {
    #[serde(rename = "type")]
    kind: &'l str,
    #[serde(default)]
    process: u64,
    stack: Option<u64>,
    call: Option<&'l str>,
    pc: Option<&'l str>,
    start: Option<&'l str>,
    end: Option<&'l str>,
    #[serde(borrow)]
    path: Option<Cow<'l, str>>,
}

impl Own {
    fn is_own(&self, line: &Line<'_>) -> bool {
        self.stacks.get(&(line.process, line.stack.unwrap())) == Some(&true)
    }

    fn line(&mut self, line: &Line<'_>) {
        match line.kind {
            "module" if line.path.as_deref() == Some(self.program.as_str()) => {
                let range = (hex(line.start.unwrap()), hex(line.end.unwrap()));
                self.ranges.entry(line.process).or_default().push(range);
            }
            "stack" if line.pc.is_some() => {
                let pc = hex(line.pc.unwrap());
                let ranges = self.ranges.get(&line.process);
                let is_own = ranges.is_some_and(|r| r.iter().any(|&(start, end)| start <= pc && pc < end));
                self.stacks.insert((line.process, line.stack.unwrap()), is_own);
            }
            "unknown_free" | "unknown_realloc" => self.calls.add(line.call.unwrap()),
            "alloc" | "free" | "realloc" | "failed" if self.is_own(line) => {
                self.calls.add(line.call.unwrap());
            }
            _ => {}
        }
    }
}

fn hex(number: &str) -> u64 {
    u64::from_str_radix(number.trim_start_matches("0x"), 16).unwrap()
}
