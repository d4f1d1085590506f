//! Which path gets which answer.

use heapscribe_views::json::parts::BlocksJson;
use serde::Serialize;
use serde_json::json;

use super::answered::{Answered, NoAnswer};
use super::ask::Ask;
use super::assets::asset;
use super::generations::generations;
use super::summary::{Summary, Whole};
use super::viewer::Viewer;
use crate::http::{Asked, Response, Status};
use crate::model::{flame, functions, stacks};

/// Figures, and what they are of.
#[derive(Serialize)]
struct Envelope<T> {
    total: BlocksJson,
    /// The moment of live blocks, ns from the start.
    at_ns: Option<u64>,
    #[serde(flatten)]
    of: T,
}

impl Viewer<'_> {
    /// Answers a request.
    pub fn answer(&self, asked: &Asked) -> Response {
        match asked.path.strip_prefix("api/") {
            None => asset(&asked.path).unwrap_or_else(|| Response::empty(Status::NoSuchPath)),
            Some("summary") => Response::json(Status::Ok, &Summary::of(self)),
            Some("time") => match self.over_time() {
                Ok(time) => Response::json(Status::Ok, time),
                Err(e) => refused(&e),
            },
            Some("whole") => match self.analysis() {
                Some(analysis) => Response::json(Status::Ok, &Whole::of(analysis)),
                None => refused(&NoAnswer::NotYet),
            },
            Some(view) => self.view(view, asked),
        }
    }

    fn view(&self, view: &str, asked: &Asked) -> Response {
        if !["flame", "functions", "stacks", "sizes", "generations"].contains(&view) {
            return Response::empty(Status::NoSuchPath);
        }
        let of = || -> Result<Response, NoAnswer> {
            let ask = Ask::parse(&asked.query).map_err(NoAnswer::Refused)?;
            if view == "generations" {
                return Ok(Response::json(Status::Ok, &generations(self, &ask)?));
            }
            let calls = &self.stacks()?.calls;
            let known = |id: &crate::model::FunctionId| (id.0 as usize) < calls.functions().len();
            if !ask.look.focus.iter().all(known) {
                return Err(NoAnswer::Refused("there is no such function".to_owned()));
            }
            let answered = self.answered(&ask.blocks)?;
            let (own, unit) = (&answered.own, ask.look.unit);
            Ok(match view {
                "flame" => envelope(&answered, flame(calls, own, &ask.look)),
                "functions" => envelope(&answered, functions(calls, own, unit, ask.order, ask.rows)),
                "stacks" => envelope(&answered, stacks(calls, own, unit, ask.rows)),
                _ => match &answered.sizes {
                    Some(sizes) => envelope(&answered, sizes),
                    None => refused(&NoAnswer::Refused("sizes are not known of this".to_owned())),
                },
            })
        };
        of().unwrap_or_else(|e| refused(&e))
    }
}

fn envelope(answered: &Answered, of: impl Serialize) -> Response {
    let total = answered.own.total().into();
    Response::json(Status::Ok, &Envelope { total, at_ns: answered.at_ns, of })
}

fn refused(e: &NoAnswer) -> Response {
    match e {
        NoAnswer::NotYet => Response::json(Status::Accepted, &json!({ "working": true })),
        NoAnswer::Refused(why) => Response::json(Status::BadRequest, &json!({ "error": why })),
    }
}
