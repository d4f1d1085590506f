//! Answers, compressed each for itself, as many as there is room for. The page unpacks the one that it shows.

use std::io::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value, json};

use super::facts::facts;
use super::questions::{Group, Question, groups, moments};
use crate::api::Viewer;
use crate::http::{Asked, Query, Status};

/// Answers that a file has.
#[derive(Debug, Default)]
pub(super) struct Packed {
    trace: Value,
    moments_ns: Vec<u64>,
    /// By question.
    answers: Map<String, Value>,
    room_bytes: usize,
    /// What is not among them, in sentences.
    pub(super) left_out: Vec<String>,
}

/// For what stands beside the answers: the path of the trace, moments, sentences.
const BESIDE_BYTES: usize = 100_000;

impl Packed {
    /// Those of a recording that fit into so many bytes; none if not even what the page begins with does.
    pub(super) fn of(viewer: &Viewer<'_>, bytes_max: usize) -> Option<Packed> {
        let mut packed = Packed { room_bytes: bytes_max.checked_sub(BESIDE_BYTES)?, ..Packed::default() };
        let mut first = |what| {
            let answer = ask(viewer, what, Query::default())?;
            packed.add(&Question::of(what, &[]).key(), &answer).then_some(answer)
        };
        let (summary, time, whole) = (first("summary")?, first("time")?, first("whole")?);
        if summary["has_messages"] == true {
            first("messages")?;
        }
        let functions = |show| ask(viewer, "functions", Question::of("functions", &[("show", show)]).query());
        let facts = facts(&summary, &time, &whole, &functions);
        packed.trace = summary["trace"].clone();
        packed.moments_ns = moments(&facts);
        for group in groups(&facts) {
            packed.add_group(viewer, &group, &facts.cuts_ns);
        }
        for show in &facts.shows {
            packed.left_out.extend(not_drawn(viewer, show, facts.has_times));
        }
        Some(packed)
    }

    fn add_group(&mut self, viewer: &Viewer<'_>, group: &Group, cuts_ns: &[u64]) {
        let mut missing = 0;
        for question in &group.questions {
            let mut query = question.query();
            if question.what == "generations" {
                let cuts: Vec<_> = cuts_ns.iter().map(u64::to_string).collect();
                query.add("cuts", cuts.join("."));
            }
            // What makes no sense here is missing in the page that a server has, too.
            let Some(answer) = ask(viewer, question.what, query) else { continue };
            missing += usize::from(!self.add(&question.key(), &answer));
        }
        if missing > 0 {
            let all = group.questions.len();
            self.left_out.push(format!("There was no room for {missing} of {all} views: {}.", group.words));
        }
    }

    /// Adds an answer if there is room.
    fn add(&mut self, key: &str, answer: &Value) -> bool {
        let Some(packed) = compressed(answer) else { return false };
        let key_bytes = json!(key).to_string().replace('<', "\\u003c").len();
        let bytes = key_bytes + packed.len() + r#":"","#.len();
        let has_room = bytes <= self.room_bytes;
        if has_room {
            self.room_bytes -= bytes;
            self.answers.insert(key.to_owned(), Value::String(packed));
        }
        has_room
    }

    /// As the page reads them.
    pub(super) fn to_json(&self) -> String {
        let Packed { trace, moments_ns, answers, left_out, .. } = self;
        let all =
            json!({ "trace": trace, "moments_ns": moments_ns, "left_out": left_out, "answers": answers });
        all.to_string()
    }
}

fn ask(viewer: &Viewer<'_>, what: &str, query: Query) -> Option<Value> {
    let response = viewer.answer(&Asked { path: format!("api/{what}"), query, is_change: false });
    (response.status == Status::Ok).then(|| serde_json::from_slice(&response.body).ok()).flatten()
}

fn compressed(answer: &Value) -> Option<String> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(answer.to_string().as_bytes()).ok()?;
    Some(BASE64_STANDARD.encode(packed.finish().ok()?))
}

/// What graphs and tables of these blocks leave out, with its share of their bytes.
fn not_drawn(viewer: &Viewer<'_>, show: &str, has_times: bool) -> Option<String> {
    let words = match show {
        "live" if has_times => "live at the peak",
        "left" => "never freed",
        show => show,
    };
    let of = |what| ask(viewer, what, Question::of(what, &[("show", show)]).query());
    let (flame, stacks) = (of("flame")?, of("stacks")?);
    let total = flame["total"]["bytes"].as_u64().filter(|bytes| *bytes > 0)?;
    let sum = |column: &Value| column.as_array().map_or(0, |all| all.iter().filter_map(Value::as_u64).sum());
    let share = |drawn: u64| 100.0 * total.saturating_sub(drawn) as f64 / total as f64;
    let (boxes, rows) = (share(sum(&flame["own_bytes"])), share(sum(&stacks["bytes"])));
    (boxes > 0.0 || rows > 0.0).then(|| {
        format!(
            "Of the bytes {words}, {} are in boxes that are too narrow for the flame graph, and {} in stacks below those listed.",
            percent(boxes),
            percent(rows)
        )
    })
}

fn percent(share: f64) -> String {
    match share {
        0.0 => "none".to_owned(),
        share if share < 0.05 => "less than 0.1 %".to_owned(),
        share => format!("{share:.1} %"),
    }
}
