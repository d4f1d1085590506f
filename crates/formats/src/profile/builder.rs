//! A profile being read: equal frames, calls and stacks become one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::model::{
    About, CallNode, CallNumber, Frame, FrameNumber, Known, Origin, Profile, Rate, StackSums, Sum,
};

/// What the sum of all stacks is at most, in bytes or blocks: room for views to add sums of them.
pub const SUM_MAX: u64 = 1 << 62;

/// Calls of a profile at most.
const CALLS_MAX: usize = u32::MAX as usize;

/// A profile, as far as it was read.
#[derive(Debug)]
pub struct Builder {
    /// What is known of it as a whole.
    pub profile: Profile,
    frames: HashMap<Frame, FrameNumber>,
    calls: HashMap<(CallNumber, FrameNumber), CallNumber>,
    stacks: HashMap<CallNumber, usize>,
}

impl Builder {
    /// One without anything.
    pub fn new(origin: Origin) -> Builder {
        let about = About {
            origin,
            whole: StackSums::default(),
            known: Known::default(),
            rate: Rate::default(),
            real_ns: 0,
            duration_ns: 0,
            heap_max_bytes: 0,
            counts_pages: false,
            curve: Vec::new(),
            curve_unit: String::new(),
            lived_unit: String::new(),
            command: String::new(),
            notes: Vec::new(),
            problems: Vec::new(),
        };
        let calls = vec![CallNode::default()];
        let profile = Profile { about, calls, frames: Vec::new(), stacks: Vec::new() };
        Builder { profile, frames: HashMap::new(), calls: HashMap::new(), stacks: HashMap::new() }
    }

    /// The number of a frame.
    pub fn frame(&mut self, frame: Frame) -> FrameNumber {
        let frames = &mut self.profile.frames;
        *self.frames.entry(frame).or_insert_with_key(|frame| {
            frames.push(frame.clone());
            FrameNumber(frames.len() as u32 - 1)
        })
    }

    /// The number of the call of a frame by a caller.
    ///
    /// # Errors
    /// When there are too many.
    pub fn call(&mut self, parent: CallNumber, frame: FrameNumber) -> Result<CallNumber, String> {
        let calls = &mut self.profile.calls;
        match self.calls.entry((parent, frame)) {
            Entry::Occupied(known) => Ok(*known.get()),
            Entry::Vacant(_) if calls.len() >= CALLS_MAX => Err("there are too many stacks".to_owned()),
            Entry::Vacant(new) => {
                calls.push(CallNode { parent, frame });
                Ok(*new.insert(CallNumber(calls.len() as u32 - 1)))
            }
        }
    }

    /// Adds to the sums of a stack.
    ///
    /// # Errors
    /// When the sum of all stacks is more than any machine has.
    pub fn add(&mut self, sums: &StackSums) -> Result<(), String> {
        add(&mut self.profile.about.whole, sums)?;
        let stacks = &mut self.profile.stacks;
        let at = *self.stacks.entry(sums.call).or_insert_with(|| {
            stacks.push(StackSums { call: sums.call, ..StackSums::default() });
            stacks.len() - 1
        });
        // No more than the whole, which was checked.
        add(&mut stacks[at], sums)
    }

    /// The profile.
    pub fn finish(mut self) -> Profile {
        self.profile.stacks.sort_unstable_by_key(|stack| stack.call);
        self.profile
    }
}

fn add(to: &mut StackSums, more: &StackSums) -> Result<(), String> {
    let pairs =
        [(&mut to.allocated, more.allocated), (&mut to.live, more.live), (&mut to.at_peak, more.at_peak)];
    for (sum, more) in pairs {
        let added = |one: u64, other: u64| one.checked_add(other).filter(|sum| *sum <= SUM_MAX);
        let blocks = added(sum.blocks, more.blocks).ok_or("the sum of all blocks is beyond 2^62")?;
        let bytes = added(sum.bytes, more.bytes).ok_or("the sum of all bytes is beyond 2^62")?;
        *sum = Sum { blocks, bytes };
    }
    to.lived = to.lived.saturating_add(more.lived);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(builder: &mut Builder, parent: CallNumber, function: &str) -> CallNumber {
        let line = super::super::Line { function: function.to_owned(), ..Default::default() };
        let frame = builder.frame(Frame::Named(vec![line]));
        builder.call(parent, frame).unwrap()
    }

    #[test]
    fn equal_stacks_become_one() {
        let mut builder = Builder::new(Origin::Pprof);
        let main = named(&mut builder, CallNumber::ROOT, "main");
        let leaf = named(&mut builder, main, "f");
        assert_eq!(named(&mut builder, main, "f"), leaf);
        let live = Sum { blocks: 2, bytes: 32 };
        for call in [leaf, leaf, main] {
            builder.add(&StackSums { call, live, ..StackSums::default() }).unwrap();
        }
        let profile = builder.finish();
        let sums: Vec<_> = profile.stacks.iter().map(|stack| (stack.call, stack.live.bytes)).collect();
        assert_eq!(sums, [(main, 32), (leaf, 64)]);
        assert_eq!(profile.about.whole.live, Sum { blocks: 6, bytes: 96 });
        assert_eq!(profile.frames.len(), 2);
    }

    #[test]
    fn sums_beyond_all_machines_are_refused() {
        let mut builder = Builder::new(Origin::Pprof);
        let live = Sum { blocks: 1, bytes: SUM_MAX };
        let sums = StackSums { live, ..StackSums::default() };
        builder.add(&sums).unwrap();
        assert_eq!(builder.add(&sums).unwrap_err(), "the sum of all bytes is beyond 2^62");
    }
}
