//! `heapscribe flame` of Go traces: goroutines by their start function, and the types they allocated. Go
//! traces have no stacks of allocations.

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::{Context, Result};
use heapscribe_analyze::go::{Allocator, Objects};
use heapscribe_analyze::{Options, go};

use super::flame_graph::{Call, FlameGraph};
use super::flame_picture::{Caption, Form, draw, unit};
use super::partial;
use crate::cli::{FlameArgs, Metric};
use heapscribe_convert::Input;
use heapscribe_convert::go_sums::{site_name, type_name};
use heapscribe_convert::gotrace::go_problems;
use heapscribe_diagnostics::Problem;

/// Runs the command.
pub(super) fn run(args: &FlameArgs, input: Input, form: Form) -> Result<ExitCode> {
    let shown = args.trace.display();
    let trace = input.into_go()?;
    let answer =
        go::analyze(&trace, &Options::default()).with_context(|| format!("cannot read {}", shown))?;
    let Some(objects) = &answer.objects else { return Err(no_objects(args).into()) };
    if args.metric() == Metric::Temporary {
        return Err(Problem::new(
            format!("a Go trace does not show which objects were temporary ({shown})"),
            "use --metric allocated, count, peak or leaked",
        )
        .into());
    }
    let caption = Caption {
        title: title(args.metric()).to_owned(),
        command: shown.to_string(),
        unit: unit(args.metric()),
    };
    draw(args, form, &graph(objects, args.metric()), &caption)?;
    Ok(partial::exit_code(&args.trace, &go_problems(&trace), true))
}

fn no_objects(args: &FlameArgs) -> Problem {
    Problem::new(
        format!("{} contains no objects, only the size of the heap", args.trace.display()),
        "build the program with Go 1.23 and run it with GODEBUG=traceallocfree=1; or use `heapscribe report`",
    )
}

fn title(of: Metric) -> &'static str {
    match of {
        Metric::Peak => "Bytes of live objects at the peak, by goroutine and type",
        Metric::Leaked => "Bytes of objects live at the end, by goroutine and type",
        Metric::Allocated => "Bytes allocated, by goroutine and type",
        Metric::Count => "Objects allocated, by goroutine and type",
        Metric::Temporary => "Temporary objects",
    }
}

fn width(of: Metric, allocator: &Allocator) -> u64 {
    match of {
        Metric::Peak => allocator.at_peak.bytes,
        Metric::Leaked => allocator.live.bytes,
        Metric::Allocated => allocator.allocated.bytes,
        Metric::Count => allocator.allocated.blocks,
        Metric::Temporary => 0,
    }
}

fn graph(objects: &Objects, of: Metric) -> FlameGraph {
    let mut graph = FlameGraph::default();
    for allocator in &objects.allocators {
        let of_type = objects.types.get(allocator.type_index).map(type_name).unwrap_or_default();
        let call = |function| Call { function, places: BTreeSet::new() };
        graph.add(vec![call(site_name(allocator)), call(of_type)], width(of, allocator));
    }
    graph
}
