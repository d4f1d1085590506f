//! The interner against a map, by what it defines.
#![allow(unsafe_code)]

use std::collections::{HashMap, HashSet};

use heapscribe_wire::definitions::{Definitions, Position};
use heapscribe_wire::head::{LossReason, SharedHead};
use heapscribe_wire::limits::DEFS_STEP_BYTES;

use super::super::path::UncachedPath;
use super::super::path_table::FIRST_CAPACITY;
use super::*;
use crate::platform::lock::Lock;
use crate::tests::{file, head, random};

/// The arena of the tables is for whoever holds the recorder's lock, here the one of all tests.
static ARENA: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// A stack: why it is cut, and its frames, the leaf first.
type Stack = (Option<LossReason>, Vec<u64>);

fn frames(bits: &[u64]) -> Vec<Frame> {
    // SAFETY: a frame is 64 bits, of which all values are valid.
    bits.iter().map(|&bits| unsafe { core::mem::transmute::<u64, Frame>(bits) }).collect()
}

/// Of the test's frames, whose addresses are a few thousand in a row: eight modules, of which the first stays.
fn module_of(frame: Frame) -> u32 {
    1 << (frame.address() >> 11 & 7) & !1
}

/// A path whose frames are in a row, as most that are new.
struct InARow {
    frames: Vec<CachedFrame>,
    cut: Option<LossReason>,
}

impl InARow {
    fn new(cut: Option<LossReason>, frames: &[Frame]) -> InARow {
        let mut hash = PathHash::seed(cut);
        let cached = |&frame: &Frame| {
            hash = hash.roll(frame);
            CachedFrame { hash, frame, bp: 0, id: StackId::UNKNOWN }
        };
        InARow { frames: frames.iter().rev().map(cached).collect(), cut }
    }
}

impl Path for InARow {
    fn len(&self) -> usize {
        self.frames.len()
    }

    fn node(&self, index: usize) -> PathNode {
        let CachedFrame { hash, frame, id, .. } = self.frames[index];
        PathNode { hash, frame, id }
    }

    fn set_id(&mut self, index: usize, id: StackId) {
        self.frames[index].id = id;
    }

    fn seed(&self) -> PathHash {
        PathHash::seed(self.cut)
    }

    fn cut(&self) -> Option<LossReason> {
        self.cut
    }

    fn has_gap(&self) -> bool {
        false
    }

    fn run(&mut self, index: usize) -> Option<&mut [CachedFrame]> {
        self.frames.get_mut(index..)
    }
}

/// The interner, its definitions, and the twin: the stacks that it was asked to define.
struct Both {
    interner: Interner,
    definitions: DefinitionWriter,
    head: &'static SharedHead,
    lock: Lock,
    twin: HashMap<Stack, StackId>,
}

impl Both {
    fn new(map_bytes: usize) -> Both {
        let head = head();
        let definitions = DefinitionWriter::new(file(map_bytes), head);
        let (interner, lock) = (Interner::default(), Lock::default());
        Both { interner, definitions, head, lock, twin: HashMap::new() }
    }

    /// Interns a stack as a hook does. What is found must be what the twin knows.
    fn intern(&mut self, stack: &Stack) -> Option<StackId> {
        let (cut, bits) = stack;
        let mut hashes = vec![PathHash::default(); bits.len()];
        let mut frames = frames(bits);
        let in_a_row = frames.clone();
        let mut walked = UncachedPath::new(&mut frames, &mut hashes, *cut);
        let known = self.twin.get(stack).copied();
        let found = self.interner.find(walked.hash());
        if known.is_some() {
            assert_eq!(found, known, "{stack:x?}");
            return known;
        }
        let hash = walked.hash();
        let known = self.interner.known_part(&walked, module_of);
        let id = if bits.len().is_multiple_of(3) {
            self.define(&mut walked, known)?
        } else {
            let mut path = InARow::new(*cut, &in_a_row);
            let id = self.define(&mut path, known)?;
            path.frames
                .iter()
                .skip(known.len)
                .for_each(|at| assert!(self.interner.is_numbered(at.hash, at.id)));
            id
        };
        assert!(found.is_none_or(|found| found == id), "a part of a stack that was defined before");
        assert_eq!(self.interner.find(hash), Some(id));
        self.twin.insert(stack.clone(), id);
        Some(id)
    }

    /// As the only thread of a process does: with signals coming, as far as no memory is needed for it.
    fn define(&self, path: &mut impl Path, known: KnownPart) -> Option<StackId> {
        let Both { interner, definitions, lock, .. } = self;
        let alone = interner.define(path, known, definitions, module_of, &lock.hold_alone().unwrap());
        alone.or_else(|| interner.define(path, known, definitions, module_of, &lock.hold().unwrap()))
    }

    /// The nodes and cuts that were defined, from number 1 on.
    fn defined(&self) -> Vec<Definition<'static>> {
        let len = self.head.defs_committed.load(Ordering::Acquire) as usize;
        // SAFETY: the first `len` bytes are written, and the mapping stays.
        let bytes = unsafe { core::slice::from_raw_parts(self.definitions.file().at(0), len) };
        Definitions::new(bytes, Position::default()).map(|read| read.unwrap().1).collect()
    }

    /// That each number leads, caller by caller, to what its stack was, that each anchor is there once, and others not much
    /// more often.
    fn check(&self) {
        let definitions = self.defined();
        for ((cut, bits), id) in &self.twin {
            let mut at = *id;
            for &frame in bits {
                let Definition::Node(node) = definitions[at.0 as usize - 1] else { panic!("no node") };
                assert_eq!(node.pc.0 | u64::from(node.exact) << 63, frame);
                at = node.parent;
            }
            let root = at.0.checked_sub(1).map(|i| definitions[i as usize]);
            assert_eq!(
                root,
                cut.map(|reason| Definition::Cut { reason: reason as u8, parent: StackId::UNKNOWN })
            );
        }
        let mut nodes = HashSet::new();
        for (cut, bits) in self.twin.keys() {
            let from = usize::from(cut.is_none());
            nodes.extend((from..=bits.len()).map(|n| (cut, &bits[bits.len() - n..])));
        }
        assert!((nodes.len()..nodes.len() + self.twin.len()).contains(&definitions.len()), "{}", nodes.len());
        let is_kept = |(cut, bits): &&(&Option<LossReason>, &[u64])| {
            let frames = frames(bits);
            let hash = frames.iter().rev().fold(PathHash::seed(**cut), |hash, frame| hash.roll(*frame));
            bits.is_empty() || hash.is_anchor()
        };
        let kept = nodes.iter().filter(is_kept).count();
        assert_eq!((self.interner.nodes.len(), self.interner.stacks.len()), (kept, self.twin.len()));
    }
}

/// A stack that shares its outer frames with one of those before it.
fn grown(before: &[Stack], state: &mut u64) -> Stack {
    let (mut cut, mut bits) = before[random(state) as usize % before.len()].clone();
    bits.drain(..random(state) as usize % (bits.len() + 1));
    for _ in 0..1 + random(state) % 6 {
        let exact = u64::from(random(state).is_multiple_of(16)) << 63;
        // Return addresses as they are: close together, in few functions.
        bits.insert(0, (0x5555_5555_0000 + random(state) % 5000 * 4) | exact);
    }
    if random(state).is_multiple_of(50) {
        cut = [None, Some(LossReason::StackDepth), Some(LossReason::StackRule)][random(state) as usize % 3];
    }
    (cut, bits)
}

#[test]
fn numbers_are_those_of_a_map() {
    let _arena = ARENA.lock().unwrap();
    let mut both = Both::new(16 << 20);
    let (mut stacks, mut state) = (vec![(None, vec![0x40_1000])], 1);
    for _ in 0..30_000 {
        let stack = grown(&stacks, &mut state);
        both.intern(&stack).unwrap();
        let again = &stacks[random(&mut state) as usize % stacks.len()];
        both.intern(again).unwrap();
        stacks.push(stack);
    }
    assert!(both.interner.nodes.len() > 8 * FIRST_CAPACITY, "it has grown often");
    both.check();
}

/// Only stacks through what was unloaded get other numbers, and those once.
#[test]
fn what_was_unloaded_is_forgotten_and_nothing_else() {
    let _arena = ARENA.lock().unwrap();
    let mut both = Both::new(16 << 20);
    let (mut stacks, mut state) = (vec![(None, vec![0x40_1000])], 1);
    for round in 0..20 {
        for _ in 0..500 {
            let stack = grown(&stacks, &mut state);
            both.intern(&stack).unwrap();
            stacks.push(stack);
        }
        let unloaded = 2 << (round % 7);
        both.interner.forget(unloaded, &both.lock.hold().unwrap());
        let through = |bits: &[u64]| frames(bits).into_iter().any(|frame| module_of(frame) & unloaded != 0);
        let (before, newest) = (both.twin.clone(), both.defined().len() as u32);
        both.twin.retain(|(_, bits), _| !through(bits));
        assert!(!both.twin.is_empty() && both.twin.len() < before.len());
        for (stack, id) in before {
            let is_new = both.intern(&stack).unwrap().0 > newest;
            assert_eq!(is_new, through(&stack.1), "{stack:x?} was {id:?}");
        }
    }
}

#[test]
fn without_room_known_stacks_keep_their_numbers() {
    let _arena = ARENA.lock().unwrap();
    let mut both = Both::new(DEFS_STEP_BYTES);
    let (mut stacks, mut state) = (vec![(None, vec![0x40_1000])], 1);
    while both.intern(stacks.last().unwrap()).is_some() {
        stacks.push(grown(&stacks, &mut state));
    }
    let lost = stacks.pop().unwrap();
    assert!(stacks.len() > 1000);
    assert_eq!(both.intern(&lost), None);
    assert_eq!([(); 3].map(|()| both.definitions.is_refused()), [true, true, false], "two have failed");
    stacks.iter().for_each(|stack| assert!(both.intern(stack).is_some()));
}

#[test]
fn a_frame_that_guesses_its_caller_says_so() {
    const GUESSES: u64 = 1 << 62;
    let _arena = ARENA.lock().unwrap();
    let both = Both::new(DEFS_STEP_BYTES);
    let mut hashes = [PathHash::default(); 3];
    let mut guessing = frames(&[3 | GUESSES, 2, 1]);
    let mut walked = UncachedPath::new(&mut guessing, &mut hashes, None);
    let held = both.lock.hold().unwrap();
    let known = both.interner.known_part(&walked, |_| 0);
    both.interner.define(&mut walked, known, &both.definitions, |_| 0, &held).unwrap();
    let guessed = both.defined().into_iter().map(|d| matches!(d, Definition::Node(n) if n.guesses));
    assert_eq!(guessed.collect::<Vec<_>>(), [false, false, true], "from the outermost in");
}
