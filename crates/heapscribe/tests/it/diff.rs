//! Two traces compared, as text and as JSON.

use crate::sample;
use crate::see::Place;

/// `run.hst` with a bit of everything, and another recording of it.
fn place_with(other: &[u8]) -> Place {
    let place = Place::with_trace(&sample::trace());
    std::fs::write(place.path("other.hst"), other).unwrap();
    place
}

#[test]
fn text() {
    let place = place_with(&sample::tiny());
    let shown =
        ["--metric allocated", "--metric count --top 1", "--metric leaked", "--metric peak"].map(|by| {
            let (code, out, err) = place.all(&format!("diff run.hst other.hst {by}"));
            format!("$ diff {by}\n{out}\n--- stderr ---\n{err}--- exit {code:?}\n")
        });
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn json() {
    let (_, out, _) = place_with(&sample::tiny()).all("diff run.hst other.hst --metric allocated --json");
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&value).unwrap());
}

#[test]
fn samples_say_what_may_be_chance() {
    let place = Place::with_trace(&sample::sampled());
    std::fs::write(place.path("other.hst"), sample::tiny()).unwrap();
    insta::assert_snapshot!(place.stdout("diff run.hst other.hst --metric leaked"));
}

#[test]
fn shares_are_of_the_whole() {
    let place = place_with(&sample::tiny());
    let out = place.all("diff run.hst other.hst --metric allocated --json").1;
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    let entries = ["grew", "shrank"].map(|key| json[key]["largest"].as_array().unwrap().clone()).concat();
    assert!(entries.len() > 1);
    for side in ["before", "after"] {
        let whole = json[side]["bytes"].as_f64().unwrap();
        for entry in &entries {
            let share = entry[side]["bytes"].as_f64().unwrap() * 100.0 / whole;
            assert!((entry["share_percent"][side].as_f64().unwrap() - share).abs() < 0.01, "{entry}");
        }
    }
    let change = &json["change"];
    let percent = change["compared"].as_f64().unwrap() * 100.0 / json["before"]["bytes"].as_f64().unwrap();
    assert!((change["percent"].as_f64().unwrap() - percent).abs() < 0.01, "{change}");
}

#[test]
fn a_trace_is_like_itself() {
    let place = Place::with_trace(&sample::tiny());
    let (_, text, _) = place.all("diff run.hst run.hst --metric allocated");
    assert!(
        text.contains("change  none, 0 bytes") && text.contains("1 stack with 5 bytes in 1 block"),
        "{text}"
    );
    assert_eq!(text.matches("  Nothing.").count(), 2, "{text}");
}

#[test]
fn there_and_back_differ_by_the_sign() {
    let place = place_with(&sample::sampled());
    let change = |arguments: &str| {
        let out = place.all(arguments).1;
        let json: serde_json::Value = serde_json::from_str(&out).unwrap();
        let sums = ["grew", "shrank"].map(|key| json[key]["compared"].as_i64().unwrap());
        assert_eq!(sums[0] + sums[1], json["change"]["compared"].as_i64().unwrap());
        sums
    };
    let there = change("diff run.hst other.hst --json --metric allocated");
    let back = change("diff other.hst run.hst --json --metric allocated");
    assert_eq!(there, [-back[1], -back[0]]);
}

/// A file of DHAT with one stack for each of these lines of `main`.
fn dhat(lines: &[(u32, u64)]) -> String {
    let point = |(n, (_, bytes)): (usize, &(u32, u64))| {
        let counts: Vec<String> =
            ["t", "m", "g", "e"].iter().map(|of| format!("\"{of}b\":{bytes},\"{of}bk\":1")).collect();
        format!("{{{},\"tl\":1,\"fs\":[1,{}]}}", counts.join(","), n + 2)
    };
    let points: Vec<String> = lines.iter().enumerate().map(point).collect();
    let frames: Vec<String> =
        lines.iter().map(|(line, _)| format!("\"0x{line}: main (v.c:{line})\"")).collect();
    format!(
        "{{\"dhatFileVersion\":2,\"mode\":\"heap\",\"verb\":\"Allocated\",\"bklt\":true,\"bkacc\":false,\
         \"tu\":\"instrs\",\"Mtu\":\"Minstr\",\"tuth\":500,\"cmd\":\"./v\",\"pid\":7,\"te\":10,\"tg\":5,\
         \"pps\":[{}],\"ftbl\":[\"[root]\",\"0x1: malloc (vg.c:1)\",{}]}}",
        points.join(","),
        frames.join(",")
    )
}

/// `v.c`: line 13 asks for a hundred blocks, line 15 for ten that are larger, and one row had the line of one.
#[test]
fn a_row_of_several_lines_names_none_of_them() {
    let place = Place::with_trace(&sample::tiny());
    let files = [("a.json", dhat(&[(13, 100)])), ("b.json", dhat(&[(13, 100_100), (15, 3_000_010)]))];
    files.iter().for_each(|(name, text)| std::fs::write(place.path(name), text).unwrap());
    let text = place.all("diff a.json b.json --metric allocated").1;
    assert!(text.contains("+3,100,010 bytes"), "{text}");
    let row = text.lines().find(|line| line.trim_start().starts_with("main ")).unwrap();
    assert!(row.ends_with(" v.c"), "{text}");
    let json = place.all("diff a.json b.json --metric allocated --json").1;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let frames = &json["grew"]["largest"][0]["frames"];
    let main = frames.as_array().unwrap().iter().find(|frame| frame["function"] == "main").unwrap();
    assert_eq!((&main["file"], &main["line"]), (&"v.c".into(), &serde_json::Value::Null));
}

/// "Events lost in other.hst: 0." was said of a trace that was cut.
#[test]
fn how_much_a_cut_trace_lacks_is_not_known() {
    let mut cut = sample::trace();
    let trace = heapscribe_formats::Trace::open(&cut[..]).unwrap();
    let last = trace.chunks().last().unwrap().offset as usize;
    cut.truncate(last);
    let (code, out, _) = place_with(&cut).all("diff run.hst other.hst --metric allocated");
    assert!(out.contains("  Events lost in run.hst: 3.\n"), "{out}");
    assert!(
        out.contains("  Events lost in other.hst: at least 3, as the end of the trace is missing"),
        "{out}"
    );
    assert_eq!(code, Some(3));
}
