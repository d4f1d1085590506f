//! What a comparison found, in lines for people.

use super::judge::{Class, Comparison, Verdict};

/// Places at which stacks part, for each class.
const EXAMPLES: usize = 4;

/// Prints it.
pub(super) fn print(found: &Comparison) {
    let calls: u64 = found.classes.values().sum();
    println!("{calls} calls compared, {} frames", found.frames);
    for (class, n) in &found.classes {
        println!("  {n:>10}  {}", describe(class));
        let Some(partings) = found.partings.get(class) else { continue };
        let mut partings: Vec<_> = partings.iter().collect();
        partings.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
        for ([last, ours, theirs], n) in partings.into_iter().take(EXAMPLES) {
            println!("  {n:>20}  after {last}: ours {ours}, theirs {theirs}");
        }
    }
    let rest = [
        (found.only_ours, "only in the recording"),
        (found.only_theirs, "only seen by the oracle"),
        (found.not_walked, "made by the oracle itself"),
        (found.contradicted, "of which libunwind and libgcc contradict each other"),
        (found.without_stack, "recorded without a stack"),
    ];
    rest.iter().filter(|(n, _)| *n > 0).for_each(|(n, what)| println!("  {n:>10}  {what}"));
}

fn describe(class: &Class) -> String {
    let verdict = match class.verdict {
        Verdict::Equal => "equal",
        Verdict::Shorter => "ours is shorter",
        Verdict::Longer => "ours is longer",
        Verdict::Different => "different",
    };
    let cut = class.cut.map(|reason| format!(", cut: {reason}")).unwrap_or_default();
    let guessed = if class.is_guessed { ", guessed" } else { "" };
    format!("{verdict}{cut}{guessed}")
}
