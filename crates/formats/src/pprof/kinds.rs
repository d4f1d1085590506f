//! What the values of samples are.

use super::tables::Texts;
use crate::profile::{Known, ProfileError, StackSums, Sum};

/// What a value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    LiveBytes,
    LiveBlocks,
    AllocatedBytes,
    AllocatedBlocks,
    /// None of a heap.
    Other,
}

/// The values of each sample, in their order.
#[derive(Debug, Default)]
pub(super) struct Kinds(Vec<Kind>);

impl Kinds {
    /// Those of a file: the numbers of the texts of each, type and unit.
    ///
    /// # Errors
    /// When none is of a heap.
    pub(super) fn new(types: &[(u64, u64)], texts: &Texts<'_>) -> Result<Kinds, ProfileError> {
        let names: Vec<String> = types.iter().map(|(name, _)| texts.get(*name)).collect();
        // A snapshot of heapscribe's calls bytes that are live `allocated`, beside `objects`.
        let kind = |name: &String| match name.as_str() {
            "inuse_space" | "space" | "allocated" => Kind::LiveBytes,
            "inuse_objects" | "objects" => Kind::LiveBlocks,
            "alloc_space" => Kind::AllocatedBytes,
            "alloc_objects" => Kind::AllocatedBlocks,
            _ => Kind::Other,
        };
        let mut kinds: Vec<Kind> = names.iter().map(kind).collect();
        for at in 1..kinds.len() {
            // Of two of a kind the first counts.
            if kinds[..at].contains(&kinds[at]) {
                kinds[at] = Kind::Other;
            }
        }
        if kinds.iter().all(|kind| *kind == Kind::Other) {
            let list = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(ProfileError::at_byte(0, format!("no figures of a heap (what it counts: {list})")));
        }
        Ok(Kinds(kinds))
    }

    /// What is known of stacks then.
    pub(super) fn known(&self) -> Known {
        let mut known = Known::default();
        for kind in &self.0 {
            match kind {
                Kind::LiveBytes => known.live.bytes = true,
                Kind::LiveBlocks => known.live.blocks = true,
                Kind::AllocatedBytes => known.allocated.bytes = true,
                Kind::AllocatedBlocks => known.allocated.blocks = true,
                Kind::Other => {}
            }
        }
        known
    }

    /// The sums of a sample of these values.
    ///
    /// # Errors
    /// When there are not as many as kinds, or one is negative.
    pub(super) fn sums(&self, values: &[u64], offset: usize) -> Result<StackSums, ProfileError> {
        if values.len() != self.0.len() {
            let what = format!("a sample of {} values instead of {}", values.len(), self.0.len());
            return Err(ProfileError::at_byte(offset, what));
        }
        let (mut live, mut allocated) = (Sum::default(), Sum::default());
        for (kind, value) in self.0.iter().zip(values) {
            let at = match kind {
                Kind::LiveBytes => &mut live.bytes,
                Kind::LiveBlocks => &mut live.blocks,
                Kind::AllocatedBytes => &mut allocated.bytes,
                Kind::AllocatedBlocks => &mut allocated.blocks,
                Kind::Other => continue,
            };
            if value.cast_signed() < 0 {
                let what =
                    format!("a negative figure, {}, as differences of profiles have,", value.cast_signed());
                return Err(ProfileError::at_byte(offset, what));
            }
            *at = *value;
        }
        Ok(StackSums { live, allocated, ..StackSums::default() })
    }
}
