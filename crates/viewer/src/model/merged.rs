//! The calls of two recordings as one tree, so that their figures can be compared box by box. Functions are the same
//! when their names are, without what another build changes.

use std::collections::HashMap;

use heapscribe_symbols::stable_name;

use super::calls::Calls;
use super::function::{FunctionId, Functions};
use super::nodes::{CallId, Nodes};
use super::own::Own;

/// The calls of both. What the later recording has keeps its numbers.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    pub(crate) calls: Calls,
    /// Where those of the earlier one are.
    to: Vec<CallId>,
}

impl Merged {
    /// Puts the calls of an earlier recording to those of a later one.
    pub(crate) fn new(before: &Calls, after: &Calls) -> Merged {
        let (functions, to_function) = merged(before.functions(), after.functions());
        let mut nodes = Nodes::from(after.nodes().to_vec());
        let mut to = vec![CallId(0)];
        for node in before.nodes().iter().skip(1) {
            to.push(nodes.add(to[node.caller.0 as usize], to_function[node.function.0 as usize]));
        }
        Merged { calls: Calls::of(functions, nodes.into_calls(), after.unknown()), to }
    }

    /// Figures of the earlier recording.
    pub(crate) fn before(&self, own: &Own) -> Own {
        Own::new(&self.calls, own.allocating().map(|(id, amount)| (self.to[id.0 as usize], amount)))
    }

    /// Figures of the later one.
    pub(crate) fn after(&self, own: &Own) -> Own {
        Own::new(&self.calls, own.allocating())
    }
}

/// The functions of both, and the numbers of those of the earlier recording.
fn merged(before: &Functions, after: &Functions) -> (Functions, Vec<FunctionId>) {
    let mut functions = after.clone();
    let mut known = HashMap::<String, FunctionId>::new();
    for (n, function) in (0..).zip(after.all()) {
        known.entry(stable_name(&function.name).to_owned()).or_insert(FunctionId(n));
    }
    let of_before = before.all().iter().map(|function| {
        *known
            .entry(stable_name(&function.name).to_owned())
            .or_insert_with(|| functions.add(&function.name, function.file.as_deref()))
    });
    let of_before = of_before.collect();
    (functions, of_before)
}

#[cfg(test)]
mod tests {
    use super::super::sample::sample;
    use super::*;

    #[test]
    fn boxes_of_both_recordings_meet_by_the_stable_names_of_their_functions() {
        let (before, own_before) = sample(&[
            (&["main", "f.constprop.0", "gone"], 1, 10),
            (&["main", "f.constprop.0"], 2, 5),
            (&["main", "gone", "main"], 1, 1),
        ]);
        let (after, own_after) = sample(&[(&["main", "f"], 1, 7), (&["main", "new"], 1, 3)]);
        let merged = Merged::new(&before, &after);
        let (before, after) = (merged.before(&own_before), merged.after(&own_after));
        let line = |id: CallId| {
            let calls = &merged.calls;
            let names: Vec<_> =
                calls.callers(id).map(|at| calls.function(calls.node(at).function).name.as_str()).collect();
            let outermost = calls.node(id).is_outermost;
            format!("{} {} {} {outermost}", names.join("<"), before.own(id).bytes, after.own(id).bytes)
        };
        let is_any = |id: &CallId| before.own(*id).bytes + after.own(*id).bytes > 0;
        let all = (1..merged.calls.nodes().len() as u32).map(CallId).filter(is_any);
        assert_eq!(
            all.map(line).collect::<Vec<_>>(),
            ["f<main 5 7 true", "new<main 0 3 true", "gone<f<main 10 0 true", "main<gone<main 1 0 false"]
        );
        assert_eq!((before.total().bytes, after.total().bytes), (16, 10));
    }
}
