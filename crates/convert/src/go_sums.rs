//! Go's traces as sums with the heap over time, which is what of them a page can show. They tell how large the heap was;
//! who held it only with the experiment of Go 1.23, by type and by the function that the goroutine began with.

use std::path::Path;

use anyhow::{Context, Result};
use heapscribe_analyze::answer::{Step, Timeline};
use heapscribe_analyze::go::{self, Allocator, GoAnswer, HeapCurve, Objects, TypeSums};
use heapscribe_analyze::{Options, answer::Amount};
use heapscribe_diagnostics::Problem;
use heapscribe_formats::gotrace::Trace;
use heapscribe_formats::profile::{
    Builder, CallNumber, Frame, Known, Line, Origin, Profile, Rate, StackSums, Sum, Unit,
};
use heapscribe_symbols::lossy;

use crate::file_source::FileSource;
use crate::gotrace::go_problems;
use crate::profile_sums::{Sums, sums};

const OF_THE_CURVE: &str =
    "Who held the heap at other moments: its curve is what Go counts as live, whole spans of objects";
const OF_LIVES: &str = "How long objects lived and which were swept, here: `heapscribe report` does";
const NO_OBJECTS: &str = "Objects and who allocates them: this needs a program built with Go 1.23 or later, run with GODEBUG=traceallocfree=1";
const NO_CLOCK: &str = "How long a tick is: a nanosecond stands for one";

/// A type, also one that the trace does not name.
pub fn type_name(of: &TypeSums) -> String {
    if of.name.is_empty() { "[no type: strings, buffers]".to_owned() } else { lossy(&of.name) }
}

/// What the goroutine began with that allocated.
pub fn site_name(of: &Allocator) -> String {
    let before = || "[allocated before the trace, or by an unknown goroutine]".to_owned();
    of.goroutine.as_ref().map_or_else(before, |name| lossy(name))
}

/// The sums of a trace.
///
/// # Errors
/// When it cannot be read, or its sums are those of no machine.
pub(crate) fn open(trace: &Trace<FileSource>, path: &Path) -> Result<Sums> {
    let shown = path.display();
    let answer = go::analyze(trace, &Options::default()).with_context(|| format!("cannot read {shown}"))?;
    let profile = profile(&answer, go_problems(trace))
        .map_err(|what| Problem::new(format!("{shown}: {what}"), "record it again; it is damaged"))?;
    let mut sums = sums(profile);
    sums.answer.timeline = timeline(&answer.curve);
    match &answer.objects {
        Some(objects) => sums.answer.peak.time_ns = objects.peak.ns,
        None => {
            sums.answer.peak.time_ns = answer.curve.peak.ns;
            sums.answer.peak.bytes = answer.curve.peak.bytes;
            sums.answer.leaked.bytes = answer.curve.last.bytes;
        }
    }
    Ok(sums)
}

fn profile(answer: &GoAnswer, problems: Vec<String>) -> Result<Profile, String> {
    let mut to = Builder::new(Origin::GoTrace);
    if let Some(objects) = &answer.objects {
        add_objects(&mut to, objects)?;
    }
    let about = &mut to.profile.about;
    about.command = format!("Go program, traced by {}", answer.version);
    about.duration_ns = answer.duration_ns;
    about.rate = Rate::Exact;
    let curve = answer.curve.steps.iter().enumerate();
    about.curve = curve.map(|(n, step)| (n as u64 * answer.curve.step_ns, step.live_max_bytes)).collect();
    let notes = if answer.objects.is_some() { &[OF_THE_CURVE, OF_LIVES][..] } else { &[NO_OBJECTS] };
    about.notes.extend(notes.iter().map(|note| (*note).to_owned()));
    about.notes.extend((!answer.has_clock).then(|| NO_CLOCK.to_owned()));
    about.problems = problems;
    Ok(to.finish())
}

/// A stack is the function that a goroutine began with, and what it made.
fn add_objects(to: &mut Builder, objects: &Objects) -> Result<(), String> {
    to.profile.about.known = Known { allocated: Unit::BOTH, live: Unit::BOTH, at_peak: Unit::BOTH };
    for allocator in &objects.allocators {
        let of_type = objects.types.get(allocator.type_index).map(type_name).unwrap_or_default();
        let mut call = CallNumber::ROOT;
        for function in [site_name(allocator), of_type] {
            let frame = to.frame(Frame::Named(vec![Line { function, ..Line::default() }]));
            call = to.call(call, frame)?;
        }
        let [allocated, live, at_peak] = [allocator.allocated, allocator.live, allocator.at_peak].map(sum);
        to.add(&StackSums { call, allocated, live, at_peak, lived: 0 })?;
    }
    Ok(())
}

fn sum(Amount { blocks, bytes }: Amount) -> Sum {
    Sum { blocks, bytes }
}

fn timeline(curve: &HeapCurve) -> Timeline {
    let step = |of: &go::CurveStep| Step {
        heap_max_bytes: of.live_max_bytes,
        heap_end_bytes: of.live_end_bytes,
        ..Step::default()
    };
    Timeline { begin_ns: 0, step_ns: curve.step_ns, steps: curve.steps.iter().map(step).collect() }
}

#[cfg(test)]
mod tests {
    use heapscribe_analyze::go::{CurveStep, Level};

    use super::*;

    fn amount(blocks: u64, bytes: u64) -> Amount {
        Amount { blocks, bytes }
    }

    #[test]
    fn objects_are_stacks_of_a_goroutine_and_a_type() {
        let allocator = |goroutine: Option<&str>, type_index, bytes| Allocator {
            goroutine: goroutine.map(|name| name.as_bytes().to_vec()),
            type_index,
            allocated: amount(2, 2 * bytes),
            at_peak: amount(2, 2 * bytes),
            live: amount(1, bytes),
        };
        let named = |name: &str| TypeSums { name: name.into(), ..TypeSums::default() };
        let objects = Objects {
            types: vec![named("main.Node"), named("")],
            allocators: vec![
                allocator(Some("main.main"), 0, 16),
                allocator(Some("main.main"), 1, 32),
                allocator(None, 0, 64),
            ],
            ..Objects::default()
        };
        let answer = GoAnswer { objects: Some(objects), has_clock: true, ..GoAnswer::default() };
        let sums = sums(profile(&answer, Vec::new()).unwrap());
        assert_eq!((sums.answer.leaked, sums.answer.totals.allocated_bytes), (amount(3, 112), 224));
        let names: Vec<_> = sums.answer.tree.modules.iter().map(|module| lossy(&module.path)).collect();
        for name in ["main.main", "main.Node", "[no type: strings, buffers]", "[allocated before the trace"] {
            assert!(names.iter().any(|path| path.contains(name)), "{name} in {names:?}");
        }
        assert_eq!(sums.about.notes, [OF_THE_CURVE, OF_LIVES]);
    }

    #[test]
    fn without_objects_there_is_the_curve() {
        let step = CurveStep { live_max_bytes: 9, live_end_bytes: 4, goal_bytes: 50 };
        let peak = Level { ns: 7, bytes: 9 };
        let curve = HeapCurve { step_ns: 10, steps: vec![step; 3], peak, ..HeapCurve::default() };
        let answer = GoAnswer { curve, duration_ns: 30, ..GoAnswer::default() };
        let profile = profile(&answer, Vec::new()).unwrap();
        assert_eq!((profile.stacks.len(), profile.about.known.live.is_any()), (0, false));
        assert_eq!(profile.about.notes, [NO_OBJECTS, NO_CLOCK]);
        let steps = timeline(&answer.curve);
        assert_eq!((steps.step_ns, steps.steps.len(), steps.steps[1].heap_end_bytes), (10, 3, 4));
    }
}
