//! Which path gets which answer.

use heapscribe_views::json::parts::BlocksJson;
use heapscribe_views::own::passes_on;
use serde::Serialize;
use serde_json::json;

use super::answered::{Answered, NoAnswer};
use super::ask::Ask;
use super::assets::asset;
use super::compare::Shown;
use super::density::density;
use super::generations::generations;
use super::held::held;
use super::lifetimes::lifetimes;
use super::pages::{Pages, StacksOfPages};
use super::rounding::rounding;
use super::source::source;
use super::summary::{Summary, Whole};
use super::viewer::Viewer;
use super::zoom::zoom;
use crate::http::{Asked, Query, Response, Status};
use crate::model::{Calls, Figures, FunctionId, ModuleId, flame, functions, stacks};

/// Figures, and what they are of.
#[derive(Serialize)]
struct Envelope<'a, T> {
    total: BlocksJson,
    /// The same of what it is compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    before_total: Option<BlocksJson>,
    /// The moment of live blocks, ns from the start.
    at_ns: Option<u64>,
    drawn: Drawn<'a>,
    #[serde(flatten)]
    of: T,
}

/// The names of what is chosen by number.
#[derive(Serialize)]
struct Drawn<'a> {
    focus: Option<&'a str>,
    hidden: Vec<&'a str>,
    collapsed: Vec<&'a str>,
}

impl<'a> Drawn<'a> {
    fn of(ask: &Ask, calls: &'a Calls) -> Result<Drawn<'a>, NoAnswer> {
        let functions = calls.functions();
        let name = |id: &FunctionId| match functions.all().get(id.0 as usize) {
            Some(function) => Ok(function.name.as_str()),
            None => Err(NoAnswer::Refused("there is no such function".to_owned())),
        };
        let path = |id: &ModuleId| match functions.modules().get(id.0 as usize) {
            Some(path) => Ok(path.as_str()),
            None => Err(NoAnswer::Refused("there is no such library".to_owned())),
        };
        Ok(Drawn {
            focus: ask.look.focus.as_ref().map(name).transpose()?,
            hidden: ask.shape.hidden.iter().map(name).collect::<Result<_, _>>()?,
            collapsed: ask.shape.collapsed.iter().map(path).collect::<Result<_, _>>()?,
        })
    }
}

/// What questions can be asked for.
const VIEWS: &[&str] = &[
    "flame",
    "functions",
    "stacks",
    "sizes",
    "rounding",
    "generations",
    "held",
    "lifetimes",
    "density",
    "source",
    "zoom",
];

impl Viewer<'_> {
    /// Answers a request.
    pub fn answer(&self, asked: &Asked) -> Response {
        // A recording is as it is.
        if asked.is_change {
            return Response::empty(Status::MethodNotAllowed);
        }
        match asked.path.strip_prefix("api/") {
            None => asset(&asked.path).unwrap_or_else(|| Response::empty(Status::NoSuchPath)),
            Some("summary") => Response::json(Status::Ok, &Summary::of(self)),
            Some("time") => answer_to(self.over_time()),
            Some("bands") => answer_to(self.bands(asked.query.get("by"))),
            Some("pages") => answer_to(self.pages().map(Pages::rows)),
            Some("page_stacks") => answer_to(self.stacks_of_pages(&asked.query)),
            Some("messages") => Response::json(Status::Ok, &self.messages),
            Some("whole") => match self.analysis() {
                Some(analysis) => Response::json(Status::Ok, &Whole::of(analysis)),
                None => refused(&NoAnswer::NotYet),
            },
            Some(view) => self.view(view, asked),
        }
    }

    fn stacks_of_pages(&self, query: &Query) -> Result<StacksOfPages, NoAnswer> {
        let pages = self.pages()?;
        let analysis = self.analysis().ok_or(NoAnswer::NotYet)?;
        pages.stacks(query, &analysis.answer, &self.stacks()?.calls)
    }

    /// The same with functions that only pass a request on drawn on their callers.
    fn without_wrappers(&self, ask: &Ask) -> Result<Ask, NoAnswer> {
        let all = (0..).map(FunctionId).zip(self.calls(ask)?.functions().all());
        let wrappers = all.filter(|(_, function)| passes_on(&function.name)).map(|(id, _)| id);
        let mut folded = ask.clone();
        folded.shape.hidden.extend(wrappers);
        Ok(folded)
    }

    fn view(&self, view: &str, asked: &Asked) -> Response {
        if !VIEWS.contains(&view) {
            return Response::empty(Status::NoSuchPath);
        }
        let of = || -> Result<Response, NoAnswer> {
            let ask = Ask::parse(&asked.query).map_err(NoAnswer::Refused)?;
            match view {
                "generations" => return Ok(Response::json(Status::Ok, &generations(self, &ask)?)),
                "zoom" => return Ok(Response::json(Status::Ok, &zoom(self, &ask)?)),
                "lifetimes" => return Ok(Response::json(Status::Ok, &lifetimes(self, &ask)?)),
                "density" => return Ok(Response::json(Status::Ok, &density(self, &ask)?)),
                "held" => return Ok(Response::json(Status::Ok, &held(self, &ask)?)),
                "rounding" => return Ok(Response::json(Status::Ok, &rounding(self, &ask)?)),
                _ => {}
            }
            let unit = ask.look.unit;
            // Who has changed is who asked for the memory, and not what passes the request on.
            let is_of_changes = view == "functions" && ask.order.is_of_changes();
            let folded = if is_of_changes { self.without_wrappers(&ask)? } else { ask.clone() };
            self.shown(&folded, |answered, Shown { calls, figures }| {
                let drawn = Drawn::of(&ask, calls)?;
                Ok(match view {
                    "flame" => envelope(answered, &figures, drawn, flame(calls, figures, &ask.look)),
                    "functions" => {
                        let rows = functions(calls, figures, unit, ask.order, ask.rows);
                        envelope(answered, &figures, drawn, rows)
                    }
                    "stacks" => {
                        envelope(answered, &figures, drawn, stacks(calls, figures.own, unit, ask.rows))
                    }
                    "source" => match source(self, &ask, answered) {
                        Ok(rows) => envelope(answered, &figures, drawn, rows),
                        Err(none) => none,
                    },
                    _ => match &answered.sizes {
                        Some(sizes) => envelope(answered, &figures, drawn, sizes),
                        None => refused(&NoAnswer::Refused("sizes are not known of this".to_owned())),
                    },
                })
            })
        };
        of().unwrap_or_else(|e| refused(&e))
    }
}

fn envelope(answered: &Answered, figures: &Figures<'_>, drawn: Drawn<'_>, of: impl Serialize) -> Response {
    let total = figures.own.total().into();
    let before_total = figures.before.map(|before| before.total().into());
    Response::json(Status::Ok, &Envelope { total, before_total, at_ns: answered.at_ns, drawn, of })
}

fn answer_to(answer: Result<impl Serialize, NoAnswer>) -> Response {
    match answer {
        Ok(answer) => Response::json(Status::Ok, &answer),
        Err(e) => refused(&e),
    }
}

fn refused(e: &NoAnswer) -> Response {
    match e {
        NoAnswer::NotYet => Response::json(Status::Accepted, &json!({ "working": true })),
        NoAnswer::Refused(why) => Response::json(Status::BadRequest, &json!({ "error": why })),
    }
}
