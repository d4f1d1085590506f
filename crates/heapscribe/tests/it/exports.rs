//! Traces as files for other tools: what stands in them, and what they refuse.

use serde_json::Value;

use crate::sample;
use crate::see::{Place, file};

/// The file that a trace becomes, pids and all.
fn converted(to: &str) -> String {
    let place = Place::with_trace(&sample::trace());
    place.all(&format!("convert run.hst --to {to} -o out"));
    file(&place.path("out"))
}

/// What is said once, and the moments that have stacks.
fn trees(massif: &str) -> String {
    let moments: Vec<&str> = massif.split("#-----------\nsnapshot=").collect();
    let some = moments.iter().filter(|moment| !moment.contains("heap_tree=empty"));
    some.copied().collect::<Vec<_>>().join("snapshot=")
}

#[test]
fn each_format_of_a_small_trace() {
    for to in ["massif", "dhat", "heaptrack", "chrome-trace", "speedscope"] {
        let text = match to {
            "massif" => trees(&converted(to)),
            "speedscope" | "dhat" => {
                let json: Value = serde_json::from_str(&converted(to)).unwrap();
                serde_json::to_string_pretty(&json).unwrap()
            }
            _ => converted(to),
        };
        insta::assert_snapshot!(to, text);
    }
}

/// Folded stacks are those of `flame`, and a profile of speedscope weighs as much.
#[test]
fn figures_are_those_of_flame() {
    let place = Place::with_trace(&sample::trace());
    place.all("convert run.hst --to speedscope -o out.json");
    let speedscope: Value = serde_json::from_str(&file(&place.path("out.json"))).unwrap();
    let profiles = speedscope["profiles"].as_array().unwrap();
    for (number, metric) in ["peak", "leaked", "allocated", "count", "temporary"].iter().enumerate() {
        place.all(&format!("flame run.hst -o flame.folded --metric {metric}"));
        place.all(&format!("convert run.hst --to folded -o out.folded --metric {metric}"));
        let folded = file(&place.path("out.folded"));
        assert_eq!(folded, file(&place.path("flame.folded")), "{metric}");
        let widths = folded.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap());
        assert_eq!(profiles[number]["endValue"], widths.sum::<u64>(), "{metric}");
    }
}

/// Sections and marks stand where they were, on the threads that the kernel knows.
#[test]
fn a_chrome_trace_has_sections_and_marks() {
    let place = Place::with_trace(&sample::sectioned(heapscribe_formats::RealTimeRules::default()));
    place.all("convert run.hst --to chrome-trace -o out.json");
    let json: Value = serde_json::from_str(&file(&place.path("out.json"))).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    let of = |ph: &str| -> Vec<String> {
        let some = events.iter().filter(|event| event["ph"] == ph);
        some.map(|event| format!("{} {}/{}", event["name"], event["pid"], event["tid"])).collect()
    };
    assert_eq!(of("i"), ["\"ready\" 100/100"]);
    assert_eq!(of("B").len(), 3, "{:?}", of("B"));
    assert_eq!(of("B").len(), of("E").len());
    assert!(of("B").contains(&"\"rt\" 100/101".to_owned()), "{:?}", of("B"));
}

/// A range of stacks is that of `flame`; what has no stacks has no ranges.
#[test]
fn ranges_are_those_of_flame() {
    let place = Place::with_trace(&sample::replaced());
    for (range, flame) in
        [("--range 1ms..2ms", "--from 1ms --to 2ms"), ("--live-at 1.5ms", "--live-at 1.5ms")]
    {
        place.stdout(&format!("convert run.hst --to folded -o out.folded {range}"));
        place.stdout(&format!("flame run.hst -o flame.folded {flame}"));
        assert_eq!(file(&place.path("out.folded")), file(&place.path("flame.folded")), "{range}");
    }
    let refused = ["massif", "dhat", "heaptrack", "chrome-trace", "memtrace"];
    let said = refused.map(|to| place.failure(&format!("convert run.hst --to {to} -o out --range 1ms..2ms")));
    insta::assert_snapshot!(said.join("\n"));
}

/// The tables of a trace as text.
fn tables(trace: &[u8], more: &str) -> Vec<String> {
    let place = Place::with_trace(trace);
    place.all(&format!("convert run.hst --to csv -o out {more}"));
    let names = ["samples", "stacks", "events"].map(|name| place.path(&format!("out/{name}.csv")));
    names.iter().filter(|path| path.is_file()).map(|path| file(path).replace('\r', "")).collect()
}

#[test]
fn tables_of_a_small_trace() {
    let text = tables(&sample::trace(), "--every 3ms --events --label region=eu,1 --service shop");
    insta::assert_snapshot!(text.join("\n"));
}

/// The column of a table, by its name.
fn column(table: &str, name: &str) -> Vec<f64> {
    let mut lines = table.lines();
    let at = lines.next().unwrap().split(',').position(|of| of == name).unwrap();
    lines.map(|line| line.split(',').nth(at).unwrap().parse().unwrap()).collect()
}

/// Variances of rows add up to those that the report has, also over windows; what is live was not freed.
#[test]
fn rows_of_sampled_blocks_have_the_variance_of_the_report() {
    let place = Place::with_trace(&sample::sampled());
    let report: Value = serde_json::from_str(&place.stdout("report run.hst --json")).unwrap();
    let error = |figure: &str| report.pointer(figure).and_then(Value::as_f64).unwrap();
    for every in ["", "--every 1ms"] {
        let samples = &tables(&sample::sampled(), every)[0];
        let sum = |name| column(samples, name).iter().sum::<f64>();
        assert_eq!(sum("alloc_bytes"), error("/bytes_allocated"));
        for (name, figure) in [
            ("alloc_objects_variance", "/sampling/allocated/blocks/standard_error"),
            ("alloc_bytes_variance", "/sampling/allocated/bytes/standard_error"),
        ] {
            assert!((sum(name).sqrt() - error(figure)).abs() < 0.06, "{name} {}", sum(name).sqrt());
        }
    }
    let samples = &tables(&sample::sampled(), "")[0];
    let live: f64 = column(samples, "live_bytes_variance").iter().sum();
    assert!((live.sqrt() - error("/sampling/leaked/bytes/standard_error")).abs() < 0.06);
}

/// The very bytes that pyarrow, duckdb and polars were seen to read, see `engines_read_the_tables`. Where they change on
/// purpose, let those read them first: `tests/programs/table_sums.py DIR`; then remove the fixtures and run this twice.
#[test]
fn binary_tables_are_those_that_were_read() {
    let place = Place::with_trace(&sample::trace());
    let mut new = Vec::new();
    for format in ["parquet", "arrow"] {
        place.all(&format!("convert run.hst --to {format} -o out --every 3ms --events"));
        for table in ["samples", "stacks", "events"] {
            let name = format!("{table}.{format}");
            let made = std::fs::read(place.path(&format!("out/{name}"))).unwrap();
            let fixture =
                std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tables").join(&name);
            if !fixture.is_file() {
                std::fs::create_dir_all(fixture.parent().unwrap()).unwrap();
                std::fs::write(&fixture, &made).unwrap();
                new.push(name.clone());
            }
            assert!(made == std::fs::read(&fixture).unwrap(), "{name}");
        }
    }
    assert!(new.is_empty(), "{new:?} are new in tests/fixtures/tables: look at them, and run this again");
}

#[test]
fn tables_refuse_what_they_do_not_have() {
    let place = Place::with_trace(&sample::replaced());
    let refused = ["--to parquet --live-at 1ms", "--to parquet --every 1ns", "--to folded --events"];
    let errors = refused.map(|flags| place.failure(&format!("convert run.hst -o out {flags}")));
    insta::assert_snapshot!(errors.join("\n"));
}

/// A collector gets what a file would have, compressed; what it refuses is an error.
#[test]
fn profiles_are_sent_to_a_collector() {
    use std::io::{BufRead, BufReader, Read, Write};
    let place = Place::with_trace(&sample::trace());
    place.all("convert run.hst --to otlp -o out.otlp");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = std::thread::spawn(move || {
        let bodies = ["200 OK", "415 Unsupported Media Type"].map(|status| {
            let mut stream = BufReader::new(listener.accept().unwrap().0);
            let (mut length, mut line) = (0, String::new());
            while stream.read_line(&mut line).unwrap() > 2 {
                length = line.strip_prefix("Content-Length: ").map_or(length, |n| n.trim().parse().unwrap());
                line.clear();
            }
            let mut packed = vec![0; length];
            stream.read_exact(&mut packed).unwrap();
            write!(stream.get_mut(), "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").unwrap();
            let mut body = Vec::new();
            flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut body).unwrap();
            body
        });
        bodies.map(|body| body.len())
    });
    place.all(&format!("convert run.hst --to otlp --endpoint {url}"));
    let refused = place.failure(&format!("convert run.hst --to otlp --endpoint {url}"));
    assert!(refused.contains("refused the profiles: 415 Unsupported Media Type"), "{refused}");
    assert!(refused.ends_with("exit code 1"), "{refused}");
    let written = std::fs::read(place.path("out.otlp")).unwrap().len();
    assert_eq!(serving.join().unwrap(), [written; 2]);
    let refused = ["--to pprof -o out", "--to otlp"]
        .map(|flags| place.failure(&format!("convert run.hst {flags} --endpoint https://localhost")));
    insta::assert_snapshot!(refused.join("\n"));
}

/// What a format has no place for is said, whatever it is: of two processes with losses, of samples, of a snapshot.
#[test]
fn each_format_says_what_it_leaves_out() {
    let formats = [
        "memtrace",
        "heaphook",
        "heaphook-0.1",
        "heaptrack",
        "massif",
        "dhat",
        "chrome-trace",
        "folded",
        "speedscope",
        "pprof",
        "otlp",
        "gotrace",
        "parquet",
    ];
    let said: Vec<String> = [("two processes", sample::trace()), ("samples", sample::sampled())]
        .iter()
        .flat_map(|(name, trace)| {
            let place = Place::with_trace(trace);
            formats.map(|to| {
                let (code, _, err) = place.all(&format!("convert run.hst --to {to} -o out.{to}"));
                format!("{name}, {to}: {}\n{err}", code.unwrap_or(-1))
            })
        })
        .collect();
    insta::assert_snapshot!(said.join("\n"));
}
