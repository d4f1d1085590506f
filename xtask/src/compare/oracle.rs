//! What `stack_oracle.c` wrote: its head says the format.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::Path;

use super::pair::Call;

const MAGIC: u32 = 0x4b43_5453;
const NESTED: u64 = 1 << 8;
const CONTRADICTION: u64 = 1 << 9;
/// The oracle writes no more.
const FRAMES_MAX: usize = 4200;

/// Pid and tid.
pub(super) type Thread = (u32, u32);

/// The calls that the oracle saw, and their stacks, innermost frame first; each stack is kept once.
#[derive(Default)]
pub(super) struct Calls {
    pub(super) threads: HashMap<Thread, Vec<Call>>,
    pub(super) stacks: Vec<Vec<u64>>,
    numbers: HashMap<Vec<u64>, u32>,
}

/// The stack of a call that the oracle made itself while it walked.
pub(super) const NOT_WALKED: u32 = u32::MAX;
/// The stack of a call of which libunwind and libgcc contradict each other.
pub(super) const CONTRADICTED: u32 = u32::MAX - 1;

impl Calls {
    pub(super) fn read(path: &Path) -> Result<Calls, String> {
        let file = File::open(path).map_err(|e| format!("the oracle wrote nothing: {e}"))?;
        let mut input = BufReader::with_capacity(1 << 20, file);
        let mut calls = Calls::default();
        let mut head = [0; 4];
        while words(&mut input, &mut head)? {
            let frames = (head[0] >> 32) as usize;
            if head[0] as u32 != MAGIC || frames > FRAMES_MAX {
                return Err("the oracle's file is damaged".to_owned());
            }
            let mut stack = vec![0; frames];
            if !words(&mut input, &mut stack)? {
                return Err("the oracle's file is cut".to_owned());
            }
            calls.add(head, stack);
        }
        Ok(calls)
    }

    fn add(&mut self, [_, who, what, size]: [u64; 4], stack: Vec<u64>) {
        let number = match (what & NESTED != 0, what & CONTRADICTION != 0) {
            (true, _) => NOT_WALKED,
            (_, true) => CONTRADICTED,
            _ => self.number(stack),
        };
        let thread = ((who >> 32) as u32, who as u32);
        let call = Call { function: what as u8, size, stack: number };
        self.threads.entry(thread).or_default().push(call);
    }

    fn number(&mut self, stack: Vec<u64>) -> u32 {
        match self.numbers.entry(stack) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                self.stacks.push(new.key().clone());
                *new.insert(self.stacks.len() as u32 - 1)
            }
        }
    }
}

/// Fills `into`; false at the end of the file.
fn words(input: &mut impl Read, into: &mut [u64]) -> Result<bool, String> {
    let mut bytes = vec![0; 8 * into.len()];
    match input.read_exact(&mut bytes) {
        Ok(()) => {}
        Err(e) if e.kind() == ErrorKind::UnexpectedEof => return Ok(false),
        Err(e) => return Err(e.to_string()),
    }
    for (word, bytes) in into.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    Ok(true)
}
