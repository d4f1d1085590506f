//! What lives long and is large, in words: one definition for the report, its JSON and the viewer.

use heapscribe_analyze::answer::{Amount, Answer};
use heapscribe_analyze::findings::{Culprit, LARGE_BYTES, LONG_PERCENT, LongLived, Owners, long_lived};
use heapscribe_symbols::NamedStacks;
use heapscribe_units::{about, counted, short_bytes};

use super::describe::kept_on_purpose;
use super::who::Who;
use crate::own::{Folded, OwnCallers};

/// Functions that are named, at most.
const NAMED: usize = 20;

/// Large blocks that lived for long, described.
#[derive(Clone, PartialEq, Debug)]
pub struct LongLivedBlocks {
    /// The figures.
    pub found: LongLived,
    /// A sentence with all of them.
    pub sentence: String,
    /// Who allocated them, and what of it was freed; the most first.
    pub owners: Vec<(Culprit, Amount, Who)>,
    /// How many functions more there are.
    pub more: u64,
}

/// Describes them; `None` where a ring has lost the allocations of old blocks.
pub fn describe_long_lived(
    answer: &Answer,
    names: &NamedStacks<'_>,
    folded: &Folded,
) -> Option<LongLivedBlocks> {
    let large = || answer.stacks.iter().filter(|stack| stack.patterns.long_lived.blocks > 0);
    let mut owners = Owners { of_runtime: kept_on_purpose(large(), names), ..Owners::default() };
    let mut own = large().next().map(|_| OwnCallers::folding(names, folded));
    if let Some(own) = &mut own {
        let all = own.merge(large().map(|stack| (stack.node, stack.patterns.long_lived.bytes)));
        for (number, merged) in (0..).zip(all) {
            owners.of.extend(merged.parts.iter().map(|(node, _)| (*node, number)));
        }
    }
    let found = long_lived(answer, &owners)?;
    let more = found.owners.len().saturating_sub(NAMED) as u64;
    let named = own.map_or_else(Vec::new, |mut own| {
        let row = |(of, freed): &(Culprit, Amount)| (*of, *freed, Who::of(of.node, &mut own, names));
        found.owners.iter().take(NAMED).map(row).collect()
    });
    Some(LongLivedBlocks { sentence: long_lived_sentence(&found, answer), found, owners: named, more })
}

/// What is large and what is long, and how much of it there was.
pub fn long_lived_sentence(found: &LongLived, answer: &Answer) -> String {
    let is_estimated = answer.sampling.as_ref().is_some_and(|sampling| sampling.has_estimates());
    let amount = |of: Amount| {
        let bytes = short_bytes(of.bytes);
        let bytes = if is_estimated { format!("{} {bytes}", about()) } else { bytes };
        format!("{bytes} in {}", counted(of.blocks, "block"))
    };
    let (size, life) = definition();
    if found.all.blocks == 0 {
        return format!("No block of {size} or more lived for {life} of its process's life or longer.");
    }
    let kept = Amount {
        blocks: found.all.blocks.saturating_sub(found.freed.blocks),
        bytes: found.all.bytes.saturating_sub(found.freed.bytes),
    };
    let freed = match kept.blocks {
        0 => "all of it was freed".to_owned(),
        blocks if blocks == found.all.blocks => "none of it was freed".to_owned(),
        _ => format!("{} of it never freed", amount(kept)),
    };
    let open = if found.is_exact { "" } else { "; events are missing, so this is of what was recorded" };
    let all = amount(found.all);
    format!(
        "Blocks of {size} or more that lived for {life} of their process's life or longer: {all}, {freed}{open}."
    )
}

/// What is large, and which part of a life is long.
fn definition() -> (String, String) {
    let part = match LONG_PERCENT {
        50 => "half".to_owned(),
        part => format!("{part} %"),
    };
    (short_bytes(LARGE_BYTES), part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(all: (u64, u64), freed: (u64, u64), is_exact: bool, expected: &str) {
        let [all, freed] = [all, freed].map(|(blocks, bytes)| Amount { blocks, bytes });
        let found = LongLived { all, freed, is_exact, ..LongLived::default() };
        assert_eq!(long_lived_sentence(&found, &Answer::default()), expected);
    }

    #[test]
    fn a_sentence_says_what_is_large_and_long() {
        let none = "No block of 64.0 KiB or more lived for half of its process's life or longer.";
        check((0, 0), (0, 0), true, none);
        let of = "Blocks of 64.0 KiB or more that lived for half of their process's life or longer: ";
        check((4, 4 << 20), (4, 4 << 20), true, &format!("{of}4.00 MiB in 4 blocks, all of it was freed."));
        check((1, 65_536), (0, 0), true, &format!("{of}64.0 KiB in 1 block, none of it was freed."));
        check(
            (3, 300 << 10),
            (1, 100 << 10),
            false,
            &format!(
                "{of}300 KiB in 3 blocks, 200 KiB in 2 blocks of it never freed; events are missing, so this is of what \
                 was recorded."
            ),
        );
    }
}
