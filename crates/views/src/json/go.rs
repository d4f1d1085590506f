//! `heapscribe report --json` of a Go trace. Its keys stay the same from version to version.

use heapscribe_analyze::answer::Amount;
use heapscribe_analyze::go::{Allocator, Collection, GoAnswer, HeapCurve, Level, Objects, TypeSums, Work};
use serde_json::{Value, json};

use heapscribe_symbols::lossy;

/// Changes when a key changes its name or meaning.
const FORMAT: u32 = 1;

/// The whole object, with at most `top` entries of each list.
pub fn report(answer: &GoAnswer, top: usize, problems: &[String]) -> Value {
    let stops = answer.stops.iter().map(|stop| {
        let mut value = work(&stop.work);
        value["reason"] = json!(stop.reason);
        value
    });
    json!({
        "format": FORMAT,
        "go_version": answer.version,
        // Without the clock all ns here are its ticks.
        "times_are": if answer.has_clock { "ns" } else { "ticks" },
        "duration_ns": answer.duration_ns,
        "events": answer.events,
        "cpu_samples": answer.cpu_samples,
        "generations": answer.generations,
        "procs": answer.procs,
        "heap": curve(&answer.curve),
        "collections": {
            "all": work(&answer.collections.work),
            "partial": answer.collections.partial,
            "list": answer.collections.list.iter().take(top).map(collection).collect::<Vec<_>>(),
        },
        "stops": stops.collect::<Vec<_>>(),
        "sweeps": {
            "all": work(&answer.sweeps), "swept_bytes": answer.swept_bytes,
            "reclaimed_bytes": answer.reclaimed_bytes,
        },
        "assists": work(&answer.assists),
        "objects": answer.objects.as_ref().map(|of| objects(of, top)),
        "problems": problems,
    })
}

fn work(of: &Work) -> Value {
    json!({
        "count": of.count, "total_ns": of.total_ns, "longest_ns": of.longest_ns,
        "longest_at_ns": of.longest_at_ns,
    })
}

fn level(of: &Level) -> Value {
    json!({ "time_ns": of.ns, "bytes": of.bytes })
}

fn curve(of: &HeapCurve) -> Value {
    let step = |(n, step): (usize, &heapscribe_analyze::go::CurveStep)| {
        json!({
            "time_ns": of.step_ns.saturating_mul(n as u64), "live_max_bytes": step.live_max_bytes,
            "live_end_bytes": step.live_end_bytes, "goal_bytes": step.goal_bytes,
        })
    };
    json!({
        "changes": of.changes, "first": level(&of.first), "peak": level(&of.peak), "last": level(&of.last),
        "goal_bytes": of.goal_bytes, "step_ns": of.step_ns,
        "steps": of.steps.iter().enumerate().map(step).collect::<Vec<_>>(),
    })
}

fn collection(of: &Collection) -> Value {
    json!({
        "begin_ns": of.begin_ns, "end_ns": of.end_ns, "before_bytes": of.before_bytes,
        "after_bytes": of.after_bytes, "goal_bytes": of.goal_bytes,
    })
}

fn amount(of: Amount) -> Value {
    json!({ "count": of.blocks, "bytes": of.bytes })
}

fn objects(of: &Objects, top: usize) -> Value {
    let name = |of: &TypeSums| Some(lossy(&of.name)).filter(|name| !name.is_empty());
    let type_of = |of: &TypeSums| {
        json!({
            "type": name(of), "there": amount(of.there), "allocated": amount(of.allocated),
            "freed": amount(of.freed), "live": amount(of.live), "lived": work(&of.lived),
        })
    };
    let allocator = |a: &Allocator| {
        json!({
            "goroutine": a.goroutine.as_ref().map(|name| lossy(name)),
            "type": of.types.get(a.type_index).and_then(name), "allocated": amount(a.allocated),
            "at_peak": amount(a.at_peak), "live": amount(a.live),
        })
    };
    let lifetimes = of.lifetimes.iter().map(|class| {
        json!({ "from": class.from_ns, "to": class.to_ns, "count": class.count, "bytes": class.bytes })
    });
    json!({
        "there": amount(of.there), "allocated": amount(of.allocated), "freed": amount(of.freed),
        "live": amount(of.live), "peak": level(&of.peak),
        "types": of.types.iter().take(top).map(type_of).collect::<Vec<_>>(),
        "allocators": of.allocators.iter().take(top).map(allocator).collect::<Vec<_>>(),
        "lifetimes": lifetimes.collect::<Vec<_>>(),
        "without_size": of.without_size, "unknown_frees": of.unknown_frees, "replaced": of.replaced,
    })
}
