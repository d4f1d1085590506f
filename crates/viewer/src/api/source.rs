//! The source around a line, with what each line allocated.

use serde::Serialize;
use serde_json::json;

use heapscribe_analyze::input::History as _;

use super::answered::Answered;
use super::ask::Ask;
use super::source_file::SourceFile;
use super::viewer::Viewer;
use crate::http::{Response, Status};
use crate::model::{FunctionId, LineRows, SOURCE_LINES_AROUND};

/// Lines of the file that a function is in.
#[derive(Serialize, Default)]
pub(super) struct SourceRows {
    function: String,
    /// None where the debug information names none.
    file: Option<String>,
    /// The line that it is about: the one that was asked for, else the one of the function that has most.
    at: Option<u32>,
    /// Why there is no text, or what has to be known to read it: a sentence.
    note: Option<String>,
    /// How many lines the file has.
    lines: usize,
    /// The number of the first line that is there, and the text of each.
    first: usize,
    text: Vec<String>,
    #[serde(flatten)]
    rows: LineRows,
}

/// What is shown of a function; what to answer where there is none.
pub(super) fn source(viewer: &Viewer<'_>, ask: &Ask, answered: &Answered) -> Result<SourceRows, Response> {
    let stacks = viewer.stacks().map_err(|_| Response::empty(Status::ServerError))?;
    let functions = stacks.calls.functions();
    let function = |id: FunctionId| functions.all().get(id.0 as usize).map(|function| (id, function));
    let Some((id, function)) = ask.function.and_then(function) else {
        return Err(Response::json(Status::NoSuchPath, &json!({ "error": "there is no such function" })));
    };
    let name = function.name.clone();
    let Some(path) = function.file.as_ref().filter(|_| stacks.sources.has_lines(id)) else {
        let note = Some("The debug information says nothing of the lines of this function.".to_owned());
        return Ok(SourceRows { function: name, note, ..SourceRows::default() });
    };
    let rows = stacks.sources.lines(functions, id, ask.look.unit, &answered.by_stack);
    let at = ask.line.or(rows.hottest);
    let shown = SourceRows { function: name, file: Some(path.clone()), at, rows, ..SourceRows::default() };
    Ok(match SourceFile::read(path) {
        Ok(file) => with_text(shown, &file, viewer.recording.session().begin_real_ns),
        Err(why) => SourceRows { note: Some(format!("The file cannot be shown: {why}.")), ..shown },
    })
}

/// The same with the text around the line.
fn with_text(shown: SourceRows, file: &SourceFile, begun_real_ns: u64) -> SourceRows {
    let lines = file.lines.len();
    let at = (shown.at.unwrap_or(1) as usize).clamp(1, lines.max(1));
    let first = at.saturating_sub(SOURCE_LINES_AROUND).max(1);
    let end = (at + SOURCE_LINES_AROUND).min(lines);
    let is_newer = begun_real_ns != 0 && file.changed_real_ns > begun_real_ns;
    let note = is_newer
        .then(|| "The file was changed after the recording began: its lines may be others now.".to_owned());
    let text = file.lines.get(first - 1..end).unwrap_or_default().to_vec();
    SourceRows { note, lines, first, text, ..shown }
}
