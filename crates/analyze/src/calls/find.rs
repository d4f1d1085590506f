//! The way from questions to calls, process by process.

use super::pass::{CallPass, CallSums};
use super::question::{CallsByProcess, MatchingCalls, Question};
use crate::answer::StackCalls;
use crate::input::{History, NumberedChunk};
use crate::sampling::Rates;
use crate::stacks::{Definitions, TreeBuilder};

/// Looks for calls.
pub fn calls<H: History>(history: &H, questions: &[Question<'_>]) -> CallsByProcess {
    let (mut tree, mut calls) = (TreeBuilder::default(), CallsByProcess::default());
    let chunks = history.chunks();
    let processes = history.processes();
    let rates = Rates::new(history, processes.len());
    for (process, facts) in processes.iter().enumerate() {
        let mut definitions = Definitions::new(history.keeps_native());
        let read =
            history.definitions(process, &mut |id, definition| definitions.take(id, definition, &mut tree));
        calls.problems.extend(read.err());
        let numbered =
            chunks.iter().enumerate().map(|(number, facts)| NumberedChunk { number, facts: *facts });
        let own: Vec<_> = numbered.filter(|chunk| chunk.facts.process == process).collect();
        let pass = CallPass { history, rates: &rates, chunks: &own, clock: &facts.clock, broke: facts.broke };
        let mut answers = pass.run(questions, &definitions, &mut calls.problems);
        let found = |answer: &mut CallSums| {
            let rows = std::mem::take(&mut answer.rows).into_sorted();
            let nodes = definitions.nodes(&mut tree, rows.iter().map(|(stack, _)| *stack));
            let of_stacks = nodes.into_iter().zip(&rows);
            let stacks =
                StackCalls::by_node(of_stacks.map(|(node, (_, row))| row.at_node(node, &facts.clock)));
            MatchingCalls { entered: answer.entered, stacks }
        };
        calls.processes.push(answers.iter_mut().map(found).collect());
    }
    calls.tree = tree.into_tree();
    calls
}
