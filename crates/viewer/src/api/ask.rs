//! Questions as the page writes them into addresses.
//!
//! | name | value |
//! |---|---|
//! | `show` | `live`, `allocated`, `freed`, `retained`, `within`, `left`, see [`Show`] |
//! | `at` | the moment of `live`: ns from the start, or `peak`, which it is unless something else is said |
//! | `from`, `to` | a range: ns from the start; `to` is not in it, but the end of the recording is |
//! | `process` | its index in the summary |
//! | `thread` | of this process, the number of a thread that allocated |
//! | `size` | a size in bytes: blocks from one power of two to the next |
//! | `born` | of `freed`: when the blocks were allocated, two moments with a dot between, of which the second is not in it |
//! | `age` | how long blocks lived that were freed: two times in ns with a dot between, of which the second is not in it and may be missing |
//! | `larger` | a power of two: blocks of at least so many bytes |
//! | `older` | live blocks that are at least so old, ns |
//! | `with`, `without` | a part of the name of a function or of its file, or `=` and the whole name: only stacks that have it, or have it not |
//! | `unit` | `bytes` or `blocks` |
//! | `tree` | `callees` or `callers` |
//! | `focus` | the number of a function |
//! | `path` | numbers of functions with dots between: the box that is drawn in full width |
//! | `base` | what the figures are compared with: a range of the same recording, two moments with a dot between; one moment; or `trace`, the other recording |
//! | `hide` | numbers of functions with dots between, which have no boxes |
//! | `collapse` | numbers of libraries with dots between, each of which is one box |
//! | `recursion` | `merged` where a call of a function within itself is no box of its own |
//! | `order` | `own` or `total`: of the table of functions |
//! | `rows` | how many rows of a table |
//! | `function`, `line` | the number of a function whose source is shown, and the line that it is shown around |
//! | `cuts` | moments with dots between: where generations begin, and the last one ends |

use std::str::FromStr;

use crate::http::Query;
use crate::model::{
    Direction, FunctionId, GENERATIONS_MAX, Look, ModuleId, Order, ROWS_MAX, SHAPE_MAX, Shape, Unit,
};

/// Which blocks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) enum Show {
    /// Live at a moment; with a range those that were allocated in it: a generation.
    #[default]
    Live,
    /// Allocated in the range.
    Allocated,
    /// Freed in the range.
    Freed,
    /// Allocated in the range and not freed by its end.
    Retained,
    /// Allocated and freed in the range.
    Within,
    /// Allocated in the range and never freed.
    Left,
}

impl Show {
    const ALL: [(&'static str, Show); 6] = [
        ("live", Show::Live),
        ("allocated", Show::Allocated),
        ("freed", Show::Freed),
        ("retained", Show::Retained),
        ("within", Show::Within),
        ("left", Show::Left),
    ];
}

/// A moment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) enum At {
    /// That with most live bytes.
    #[default]
    Peak,
    /// So many ns from the start.
    Ns(u64),
}

/// What figures are compared with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) enum Base {
    /// With nothing.
    #[default]
    Nothing,
    /// With those of another range.
    Range(u64, u64),
    /// With those at another moment.
    At(u64),
    /// With those of the other recording.
    Trace,
}

/// Which blocks are asked for: what the figures depend on, whatever is made of them.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Blocks {
    pub(crate) show: Show,
    pub(crate) at: At,
    pub(crate) from_ns: Option<u64>,
    pub(crate) to_ns: Option<u64>,
    /// Of what was freed in the range: when it was allocated, ns from the start.
    pub(crate) born_ns: Option<(u64, u64)>,
    pub(crate) process: Option<u32>,
    /// Its thread that allocated.
    pub(crate) thread: Option<u32>,
    /// A size, which stands for its class.
    pub(crate) size_bytes: Option<u64>,
    /// They have at least this size: a power of two, as sizes are kept by classes.
    pub(crate) larger_bytes: Option<u64>,
    /// They are live and at least so old, ns.
    pub(crate) older_ns: Option<u64>,
    /// How long they lived, ns; the end is not in it.
    pub(crate) age_ns: Option<(u64, u64)>,
    pub(crate) with: String,
    pub(crate) without: String,
}

/// A question.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Ask {
    pub(crate) blocks: Blocks,
    pub(crate) base: Base,
    pub(crate) look: Look,
    pub(crate) shape: Shape,
    pub(crate) order: Order,
    pub(crate) rows: usize,
    /// The function whose source is shown, and the line around which.
    pub(crate) function: Option<FunctionId>,
    pub(crate) line: Option<u32>,
    /// Where generations begin, and the last one ends: ns from the start, ascending.
    pub(crate) cuts_ns: Vec<u64>,
}

const ORDERS: [(&str, Order); 4] = [
    ("own", Order::Own),
    ("total", Order::Total),
    ("change", Order::Change),
    ("total-change", Order::TotalChange),
];

/// What a question is made of.
const NAMES: &[&str] = &[
    "show",
    "at",
    "from",
    "to",
    "born",
    "process",
    "thread",
    "size",
    "larger",
    "older",
    "with",
    "without",
    "unit",
    "tree",
    "focus",
    "path",
    "hide",
    "collapse",
    "recursion",
    "age",
    "base",
    "order",
    "rows",
    "cuts",
    "function",
    "line",
];

/// Rows of a table, unless something else is asked for.
const ROWS: usize = 200;

impl Ask {
    /// Reads it; what is wrong with it, in words.
    pub(crate) fn parse(query: &Query) -> Result<Ask, String> {
        if let Some(unknown) = query.names().find(|name| !NAMES.contains(name)) {
            return Err(format!("there is no `{unknown}`"));
        }
        let at = match query.get("at") {
            None | Some("peak") => At::Peak,
            Some(_) => number(query, "at")?.map_or(At::Peak, At::Ns),
        };
        let blocks = Blocks {
            show: one_of(query, "show", &Show::ALL)?,
            at,
            from_ns: number(query, "from")?,
            to_ns: number(query, "to")?,
            born_ns: born(query)?,
            process: number(query, "process")?,
            thread: number(query, "thread")?,
            size_bytes: number(query, "size")?,
            larger_bytes: number(query, "larger")?,
            older_ns: number(query, "older")?,
            age_ns: age(query)?,
            with: query.get("with").unwrap_or_default().to_owned(),
            without: query.get("without").unwrap_or_default().to_owned(),
        };
        if blocks.from_ns.unwrap_or(0) >= blocks.to_ns.unwrap_or(u64::MAX) {
            return Err("the range ends where it begins, or earlier".to_owned());
        }
        if blocks.thread.is_some() && blocks.process.is_none() {
            return Err("`thread` is a number in a `process`".to_owned());
        }
        if blocks.larger_bytes.is_some_and(|bytes| !bytes.is_power_of_two()) {
            return Err("`larger` has to be a power of two: sizes are kept by powers of two".to_owned());
        }
        if blocks.born_ns.is_some() && blocks.show != Show::Freed {
            return Err(
                "`born` is for blocks freed in the range; else the range says when they were allocated"
                    .to_owned(),
            );
        }
        if blocks.older_ns.is_some() && blocks.show != Show::Live {
            return Err("`older` is for live blocks; `age` chooses those that were freed".to_owned());
        }
        let look = Look {
            unit: one_of(query, "unit", &[("bytes", Unit::Bytes), ("blocks", Unit::Blocks)])?,
            direction: one_of(
                query,
                "tree",
                &[("callees", Direction::Callees), ("callers", Direction::Callers)],
            )?,
            focus: number(query, "focus")?.map(FunctionId),
            path: dotted(query, "path")?.into_iter().map(FunctionId).collect(),
        };
        let order = one_of(query, "order", &ORDERS)?;
        let rows = number(query, "rows")?.unwrap_or(ROWS).min(ROWS_MAX);
        Ok(Ask {
            blocks,
            base: base(query)?,
            look,
            shape: shape(query)?,
            order,
            rows,
            function: number(query, "function")?.map(FunctionId),
            line: number(query, "line")?,
            cuts_ns: cuts(query)?,
        })
    }
}

fn one_of<T: Copy + Default>(query: &Query, name: &str, all: &[(&str, T)]) -> Result<T, String> {
    let Some(value) = query.get(name) else { return Ok(T::default()) };
    let found = all.iter().find(|(of, _)| *of == value);
    found.map(|(_, is)| *is).ok_or_else(|| format!("`{name}` cannot be `{value}`"))
}

fn number<T: FromStr>(query: &Query, name: &str) -> Result<Option<T>, String> {
    let read = |value: &str| value.parse().map_err(|_| format!("`{name}` is not the number `{value}`"));
    query.get(name).map(read).transpose()
}

/// Numbers with dots between.
fn dotted<T: FromStr>(query: &Query, name: &str) -> Result<Vec<T>, String> {
    let text = query.get(name).unwrap_or_default();
    let read = |number: &str| number.parse().map_err(|_| format!("`{name}` is not `{text}`"));
    text.split('.').filter(|number| !number.is_empty()).map(read).collect()
}

/// When blocks were allocated that are chosen by when they were freed.
fn born(query: &Query) -> Result<Option<(u64, u64)>, String> {
    match dotted(query, "born")?[..] {
        [] => Ok(None),
        [from_ns, to_ns] if from_ns < to_ns => Ok(Some((from_ns, to_ns))),
        _ => Err("`born` is two moments, the earlier one first".to_owned()),
    }
}

/// How long blocks lived.
fn age(query: &Query) -> Result<Option<(u64, u64)>, String> {
    match dotted(query, "age")?[..] {
        [] => Ok(None),
        [from_ns] => Ok(Some((from_ns, u64::MAX))),
        [from_ns, to_ns] if from_ns < to_ns => Ok(Some((from_ns, to_ns))),
        _ => Err("`age` is two times, the shorter one first".to_owned()),
    }
}

/// What figures are compared with.
fn base(query: &Query) -> Result<Base, String> {
    if query.get("base") == Some("trace") {
        return Ok(Base::Trace);
    }
    match dotted(query, "base")?[..] {
        [] => Ok(Base::Nothing),
        [ns] => Ok(Base::At(ns)),
        [from_ns, to_ns] if from_ns < to_ns => Ok(Base::Range(from_ns, to_ns)),
        _ => Err("`base` is a moment, a range, or `trace`".to_owned()),
    }
}

/// What is drawn otherwise.
fn shape(query: &Query) -> Result<Shape, String> {
    let shape = Shape {
        hidden: dotted(query, "hide")?.into_iter().map(FunctionId).collect(),
        collapsed: dotted(query, "collapse")?.into_iter().map(ModuleId).collect(),
        merges_recursion: one_of(query, "recursion", &[("drawn", false), ("merged", true)])?,
    };
    match shape.hidden.len().max(shape.collapsed.len()) <= SHAPE_MAX {
        true => Ok(shape),
        false => Err(format!("at most {SHAPE_MAX} functions can be hidden")),
    }
}

/// Where generations begin and end.
fn cuts(query: &Query) -> Result<Vec<u64>, String> {
    let cuts: Vec<u64> = dotted(query, "cuts")?;
    match cuts.is_sorted_by(|a, b| a < b) && cuts.len() <= GENERATIONS_MAX + 1 {
        true => Ok(cuts),
        false => Err(format!("`cuts` has to be up to {} ascending moments", GENERATIONS_MAX + 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, expected: Result<Ask, &str>) {
        assert_eq!(Ask::parse(&Query::parse(query)), expected.map_err(str::to_owned), "{query}");
    }

    #[test]
    fn a_question_is_read_from_an_address() {
        let plain = Ask { rows: ROWS, ..Ask::default() };
        check("", Ok(plain.clone()));
        let blocks = Blocks {
            show: Show::Retained,
            at: At::Ns(7),
            from_ns: Some(1),
            to_ns: Some(2),
            born_ns: None,
            process: Some(3),
            thread: Some(8),
            size_bytes: Some(64),
            larger_bytes: Some(32),
            older_ns: None,
            age_ns: Some((10, 30)),
            with: "Operator new".into(),
            without: "main".into(),
        };
        let look = Look {
            unit: Unit::Blocks,
            direction: Direction::Callers,
            focus: Some(FunctionId(4)),
            path: vec![FunctionId(5), FunctionId(6)],
        };
        let shape = Shape {
            hidden: vec![FunctionId(1), FunctionId(2)],
            collapsed: vec![ModuleId(3)],
            merges_recursion: true,
        };
        check(
            "show=retained&at=7&from=1&to=2&process=3&thread=8&size=64&larger=32&age=10.30&with=Operator+new&without=main&unit=blocks&tree=callers\
             &focus=4&path=5.6&base=3.9&hide=1.2&collapse=3&recursion=merged&order=total&rows=9&cuts=0.10.20\
             &function=7&line=8",
            Ok(Ask {
                blocks,
                base: Base::Range(3, 9),
                look,
                shape,
                order: Order::Total,
                rows: 9,
                function: Some(FunctionId(7)),
                line: Some(8),
                cuts_ns: vec![0, 10, 20],
            }),
        );
        check("base=trace", Ok(Ask { base: Base::Trace, ..plain.clone() }));
        check("base=7&order=change", Ok(Ask { base: Base::At(7), order: Order::Change, ..plain.clone() }));
        let older = Blocks { older_ns: Some(5), ..Blocks::default() };
        check("older=5", Ok(Ask { blocks: older, ..plain.clone() }));
        let freed = Blocks { show: Show::Freed, born_ns: Some((3, 9)), ..Blocks::default() };
        check("show=freed&born=3.9", Ok(Ask { blocks: freed, ..plain.clone() }));
        check("at=peak&rows=4000000000", Ok(Ask { rows: ROWS_MAX, ..plain }));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        check("show=all", Err("`show` cannot be `all`"));
        check("from=1s", Err("`from` is not the number `1s`"));
        check("from=2&to=2", Err("the range ends where it begins, or earlier"));
        check("show=freed&born=9.3", Err("`born` is two moments, the earlier one first"));
        let why = "`born` is for blocks freed in the range; else the range says when they were allocated";
        check("show=allocated&born=3.9", Err(why));
        check("process=-1", Err("`process` is not the number `-1`"));
        check("age=9.3", Err("`age` is two times, the shorter one first"));
        check("larger=48", Err("`larger` has to be a power of two: sizes are kept by powers of two"));
        check("older=5&show=left", Err("`older` is for live blocks; `age` chooses those that were freed"));
        check("base=9.3", Err("`base` is a moment, a range, or `trace`"));
        check("hide=1.x", Err("`hide` is not `1.x`"));
        check(&format!("hide={}", "1.".repeat(101)), Err("at most 100 functions can be hidden"));
        check("thread=1", Err("`thread` is a number in a `process`"));
        check("path=1.x", Err("`path` is not `1.x`"));
        check("cuts=1.1", Err("`cuts` has to be up to 65 ascending moments"));
        check("callback=x", Err("there is no `callback`"));
    }
}
