//! Massif's files: the heap at moments, some of which have a tree of who held it, from what allocates to its callers.
//!
//! ```text
//!   desc: --massif-out-file=m
//!   cmd: ./program
//!   time_unit: i                          of what time= is: instructions, ms or B, bytes allocated and freed
//!   #-----------
//!   snapshot=7
//!   #-----------
//!   time=144365
//!   mem_heap_B=52288
//!   mem_heap_extra_B=656
//!   mem_stacks_B=0
//!   heap_tree=peak                        or detailed; or empty, without a tree
//!   n2: 52288 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
//!    n1: 40000 0x109162: make (blocks.c:5)
//!     n0: 40000 0x1091A2: keep_many (blocks.c:6)
//!    n0: 12288 in 3 places, all below massif's threshold (1.00%)
//! ```
//! A call's bytes are those of its callers, too: what no caller has is its own. Numbers of blocks are not known. A file has
//! no end of its own, so one that is cut just before a moment looks whole; cut anywhere else it is called so.

mod moments;
mod tree;

use crate::profile::{Builder, Origin, Profile, ProfileError, Rate, Unit};
use moments::{Moment, Moments};
use tree::Tree;

/// Whether a file that begins with these bytes is one.
pub fn is_begin(first: &[u8]) -> bool {
    first.starts_with(b"desc:")
}

/// Reads a file.
///
/// # Errors
/// When it is damaged, or has no tree.
pub fn read(bytes: &[u8]) -> Result<Profile, ProfileError> {
    let mut to = Builder::new(Origin::Massif);
    let moments = Moments::read(bytes)?;
    // What massif calls the peak may be less than another moment.
    let later_is_larger = |so_far: &Moment, more: &Moment| more.heap_bytes > so_far.heap_bytes;
    let with_tree = moments.all.iter().filter(|moment| moment.tree.is_some());
    let chosen = with_tree.reduce(|most, more| if later_is_larger(most, more) { more } else { most });
    let Some((moment, tree)) = chosen.and_then(|moment| Some((moment, moment.tree?))) else {
        return Err(match moments.cut {
            Some(cut) => ProfileError::at_byte(cut.bytes, "it is cut before the end of the first tree,"),
            None => ProfileError::in_line(1, "no moment of which it says who held the heap"),
        });
    };
    Tree::default().read(bytes, tree, &mut to)?;
    let about = &mut to.profile.about;
    let largest_bytes = moments.all.iter().map(|moment| moment.heap_bytes).max().unwrap_or(0);
    if largest_bytes > moment.heap_bytes {
        about.heap_max_bytes = largest_bytes;
    }
    if let Some(cut) = moments.cut {
        about.problems.push(format!(
            "the file is cut at byte {}, in line {}: later moments are missing, and perhaps the largest one",
            cut.bytes, cut.line
        ));
    }
    about.command = moments.command;
    about.counts_pages = moments.counts_pages;
    about.curve = moments.all.iter().map(|moment| (moment.time, moment.heap_bytes)).collect();
    about.curve_unit = moments.time_unit;
    about.rate = Rate::Exact;
    about.known.at_peak = Unit { blocks: false, bytes: true };
    Ok(to.finish())
}
