//! What is asked of a recording depends on what it is: its marks, the functions that findings name, its processes.

use serde_json::Value;

use super::questions::Facts;
use crate::model::GENERATIONS_MAX;

/// Blocks that a file has views of.
const SHOWS: [&str; 3] = ["live", "allocated", "left"];
/// Where there are no marks, the recording is cut into so many parts, as the page does it.
const PARTS: u64 = 8;
/// Functions of each kind of blocks that can be looked at for themselves.
const FUNCTIONS: usize = 20;

/// Finds it in the answers that the page begins with; `functions` gives the table of some blocks.
pub(super) fn facts(
    summary: &Value,
    time: &Value,
    whole: &Value,
    functions: &dyn Fn(&'static str) -> Option<Value>,
) -> Facts {
    let is_there = |show: &&str| items(&summary["shows"]).any(|there| there == *show);
    let shows: Vec<_> = SHOWS.into_iter().filter(is_there).collect();
    let duration_ns = summary["duration_ns"].as_u64();
    let most = |show: &'static str| {
        let table = functions(show).unwrap_or_default();
        let numbers: Vec<u64> = items(&table["function"]).filter_map(Value::as_u64).take(FUNCTIONS).collect();
        numbers.into_iter().map(move |number| (show, number))
    };
    Facts {
        functions: shows.iter().flat_map(|show| most(show)).collect(),
        shows,
        has_times: duration_ns.is_some(),
        has_pages: summary["has_pages"] == true,
        has_baseline: summary["baseline"].is_string(),
        culprits: items(&whole["findings"]).flat_map(culprits).collect(),
        cuts_ns: duration_ns.map_or_else(Vec::new, |duration_ns| cuts(&time["notes"], duration_ns)),
        duration_ns: duration_ns.unwrap_or(0),
        processes: items(&time["lanes"])
            .filter_map(|lane| lane["process"].as_u64())
            .map(|n| n as u32)
            .collect(),
    }
}

fn items(array: &Value) -> impl Iterator<Item = &Value> {
    array.as_array().into_iter().flatten()
}

/// The functions that a finding names, and which blocks it is about.
fn culprits(finding: &Value) -> impl Iterator<Item = (&'static str, String)> {
    let all = ["live", "allocated", "freed", "left"];
    let show = all.into_iter().find(|show| finding["show"] == *show).unwrap_or("live");
    items(&finding["culprits"]).filter_map(move |culprit| Some((show, culprit["name"].as_str()?.to_owned())))
}

/// The marks, with the begin and the end; or equal parts.
fn cuts(notes: &Value, duration_ns: u64) -> Vec<u64> {
    let moments = items(&notes["from_ns"]).zip(items(&notes["is_section"]));
    let marks = moments.filter(|(_, is_section)| **is_section == false).filter_map(|(ns, _)| ns.as_u64());
    let mut between: Vec<u64> = marks.filter(|ns| (1..duration_ns).contains(ns)).collect();
    if between.is_empty() {
        let part = |n| (u128::from(duration_ns) * u128::from(n) / u128::from(PARTS)) as u64;
        between = (1..PARTS).map(part).collect();
    }
    between.push(0);
    between.sort_unstable();
    between.dedup();
    between.truncate(GENERATIONS_MAX);
    between.push(duration_ns);
    between.dedup();
    between
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn marks_cut_a_recording_and_where_there_are_none_it_is_cut_evenly() {
        let notes =
            |from_ns: &[u64], is_section: &[bool]| json!({ "from_ns": from_ns, "is_section": is_section });
        assert_eq!(
            cuts(&notes(&[30, 10, 20, 90, 10], &[false, false, true, false, false]), 80),
            [0, 10, 30, 80]
        );
        assert_eq!(cuts(&notes(&[20], &[true]), 80), [0, 10, 20, 30, 40, 50, 60, 70, 80]);
        let many: Vec<u64> = (1..1_000).collect();
        let all = cuts(&notes(&many, &[false; 999]), 1_000);
        assert_eq!((all.len(), all[GENERATIONS_MAX]), (GENERATIONS_MAX + 1, 1_000));
    }
}
