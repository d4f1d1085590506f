//! The questions that a file answers, as the page asks them: those of the whole recording first, then parts of it.

use crate::http::Query;

/// What need not be said, as the page has it, too.
const DEFAULTS: [(&str, &str); 5] =
    [("show", "live"), ("at", "peak"), ("unit", "bytes"), ("tree", "callees"), ("order", "own")];

/// A question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Question {
    pub(super) what: &'static str,
    /// In the order of the names.
    names: Vec<(&'static str, String)>,
}

impl Question {
    pub(super) fn of(what: &'static str, names: &[(&'static str, &str)]) -> Question {
        let said = names.iter().filter(|name| !DEFAULTS.contains(name));
        let mut names: Vec<_> = said.map(|(name, value)| (*name, (*value).to_owned())).collect();
        names.sort();
        Question { what, names }
    }

    /// The same with one more.
    fn and(&self, name: &'static str, value: &str) -> Question {
        let names: Vec<_> = self.names.iter().map(|(name, value)| (*name, value.as_str())).collect();
        Question::of(self.what, &[&names[..], &[(name, value)]].concat())
    }

    /// What the answer is found by in the page.
    pub(super) fn key(&self) -> String {
        let names: Vec<_> = self.names.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("{}?{}", self.what, names.join("&"))
    }

    /// As the server is asked.
    pub(super) fn query(&self) -> Query {
        Query::of(self.names.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
    }
}

/// Questions that are left out together when there is no room, and what they are, in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Group {
    pub(super) words: &'static str,
    pub(super) questions: Vec<Question>,
}

/// What has to be known of a recording to ask about it.
#[derive(Default)]
pub(super) struct Facts {
    /// Which blocks can be asked for.
    pub(super) shows: Vec<&'static str>,
    pub(super) has_times: bool,
    pub(super) has_baseline: bool,
    /// Whether it is a snapshot with its pages.
    pub(super) has_pages: bool,
    /// Of each function that a finding is about, which blocks, and its name.
    pub(super) culprits: Vec<(&'static str, String)>,
    /// Where generations begin, and the last one ends, ns.
    pub(super) cuts_ns: Vec<u64>,
    pub(super) duration_ns: u64,
    /// The processes that held most.
    pub(super) processes: Vec<u32>,
    /// Of each kind of blocks the functions that have most, by number.
    pub(super) functions: Vec<(&'static str, u64)>,
}

/// All questions, the most important first.
pub(super) fn groups(facts: &Facts) -> Vec<Group> {
    let group = |words, questions| Group { words, questions };
    let all = |make: &dyn Fn(&'static str) -> Vec<Question>| {
        facts.shows.iter().flat_map(|show| make(show)).collect()
    };
    let flame = |show: &str| Question::of("flame", &[("show", show)]);
    let of_trace = |question: &Question| question.and("base", "trace");
    let mut compared: Vec<Question> = all(&|show| {
        vec![
            flame(show),
            flame(show).and("tree", "callers"),
            Question::of("functions", &[("show", show), ("order", "change")]),
        ]
    });
    compared = compared.iter().filter(|_| facts.has_baseline).map(of_trace).collect();
    let by_blocks: Vec<Question> =
        all(&plain).iter().map(|question| question.and("unit", "blocks")).collect();
    vec![
        group("graphs, functions and stacks", all(&plain)),
        group("differences", compared),
        group("lifetimes and generations", over_time(facts)),
        group("pages", if facts.has_pages { pages() } else { Vec::new() }),
        group("the functions that findings name", culprits(facts)),
        group("the same by count of blocks", by_blocks),
        group("parts of the time", generations(facts)),
        group(
            "moments of the timeline",
            moments(facts).iter().map(|ns| flame("live").and("at", &ns.to_string())).collect(),
        ),
        group("single processes", processes(facts)),
        group("single functions", focused(facts)),
    ]
}

/// What is shown of blocks.
fn plain(show: &'static str) -> Vec<Question> {
    let of = |what, names: &[_]| Question::of(what, &[names, &[("show", show)]].concat());
    vec![
        of("flame", &[]),
        of("flame", &[("tree", "callers")]),
        of("functions", &[]),
        of("functions", &[("order", "total")]),
        of("stacks", &[]),
        of("sizes", &[]),
        of("rounding", &[]),
    ]
}

fn over_time(facts: &Facts) -> Vec<Question> {
    if !facts.has_times {
        return Vec::new();
    }
    let units = |what| ["bytes", "blocks"].map(|unit| Question::of(what, &[("unit", unit)]));
    let bands = ["threads", "processes"].map(|by| Question::of("bands", &[("by", by)]));
    let of_all = [units("lifetimes"), units("density"), units("generations"), bands].concat();
    of_all.into_iter().chain([Question::of("held", &[])]).collect()
}

fn pages() -> Vec<Question> {
    ["pages", "page_stacks"].map(|what| Question::of(what, &[])).to_vec()
}

fn culprits(facts: &Facts) -> Vec<Question> {
    let flame = |(show, name): &(&'static str, String)| {
        Question::of("flame", &[("show", show), ("with", &format!("={name}"))])
    };
    facts.culprits.iter().map(flame).collect()
}

/// What each generation leads to.
fn generations(facts: &Facts) -> Vec<Question> {
    let flames = |cuts: &[u64]| {
        let (from, to) = (cuts[0].to_string(), cuts[1].to_string());
        ["allocated", "retained", "left"]
            .map(|show| Question::of("flame", &[("show", show), ("from", &from), ("to", &to)]))
    };
    facts.cuts_ns.windows(2).flat_map(flames).collect()
}

/// Moments of which it is known what was live: the timeline leads to the nearest one.
const MOMENTS: u64 = 32;

pub(super) fn moments(facts: &Facts) -> Vec<u64> {
    let at = |n| (u128::from(facts.duration_ns) * u128::from(n) / u128::from(MOMENTS)) as u64;
    let mut all: Vec<u64> =
        (1..MOMENTS).map(at).chain(facts.cuts_ns.iter().copied()).filter(|ns| *ns > 0).collect();
    all.sort_unstable();
    all.dedup();
    if facts.has_times { all } else { Vec::new() }
}

fn processes(facts: &Facts) -> Vec<Question> {
    let is_view = |question: &Question| !["sizes", "rounding"].contains(&question.what);
    let of = |process: &u32| {
        let all = facts.shows.iter().flat_map(|show| plain(show)).filter(is_view);
        all.map(|question| question.and("process", &process.to_string())).collect::<Vec<_>>()
    };
    facts.processes.iter().flat_map(of).collect()
}

fn focused(facts: &Facts) -> Vec<Question> {
    let flames = |(show, function): &(&'static str, u64)| {
        let flame = Question::of("flame", &[("show", show), ("focus", &function.to_string())]);
        [flame.and("tree", "callers"), flame]
    };
    facts.functions.iter().flat_map(flames).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_has_a_key_without_what_need_not_be_said() {
        let question = Question::of("flame", &[("with", "=a b<c>"), ("show", "left"), ("unit", "bytes")]);
        assert_eq!(question.key(), "flame?show=left&with==a b<c>");
        assert_eq!(question.query().get("with"), Some("=a b<c>"));
        assert_eq!(Question::of("flame", &[("show", "live"), ("at", "peak")]).key(), "flame?");
    }

    #[test]
    fn what_a_recording_cannot_be_asked_is_not_among_them() {
        let keys = |facts: &Facts| -> Vec<String> {
            groups(facts).iter().flat_map(|group| &group.questions).map(Question::key).collect()
        };
        let snapshot = keys(&Facts { shows: vec!["live"], ..Facts::default() });
        assert_eq!(snapshot.len(), 14);
        assert!(snapshot.contains(&"flame?tree=callers&unit=blocks".to_owned()));
        let facts = Facts {
            shows: vec!["live", "left"],
            has_times: true,
            has_baseline: true,
            has_pages: true,
            culprits: vec![("left", "f".to_owned())],
            cuts_ns: vec![0, 5, 20],
            duration_ns: 20,
            processes: vec![3],
            functions: vec![("left", 7)],
        };
        let all = keys(&facts);
        for key in [
            "lifetimes?",
            "density?unit=blocks",
            "held?",
            "page_stacks?",
            "bands?by=threads",
            "functions?base=trace&order=change&show=left",
            "flame?show=left&with==f",
            "flame?from=5&show=retained&to=20",
            "flame?at=5",
            "flame?process=3",
            "flame?focus=7&show=left&tree=callers",
        ] {
            assert!(all.contains(&key.to_owned()), "{key}: {all:?}");
        }
        assert_eq!(moments(&facts).last(), Some(&20));
    }
}
