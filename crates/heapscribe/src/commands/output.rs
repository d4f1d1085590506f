//! Where commands write: files of traces, and answers on standard output.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use heapscribe_convert::native::named_table::is_trace;
use heapscribe_diagnostics::Problem;
use heapscribe_views::text::fit::Fitted;
use heapscribe_views::text::screen::screen;
use heapscribe_views::text::stack_list::WIDTH;

use crate::terminal;

/// Refuses to replace what a file holds, unless that is wanted. An empty file, a pipe and a device can be written.
pub(super) fn reject_existing(path: &Path, force: bool) -> Result<(), Problem> {
    if force || !holds_something(path) {
        return Ok(());
    }
    let what = format!("{} already exists", path.display());
    Err(Problem::new(what, "choose another name with -o, or replace the file with --force"))
}

/// Refuses an output that is what is read, which would be empty before that, and, unless that is wanted, to replace
/// another trace of ours: `redact a.hst -o b.hst` destroyed a recording that cannot be had again. What other tools write
/// and read is replaced, as they do it.
pub(super) fn reject(input: &Path, output: &Path, force: bool) -> Result<(), Problem> {
    if is_same(input, output) {
        let what = format!("{} is both input and output", output.display());
        return Err(Problem::new(what, "choose another name with -o"));
    }
    reject_existing(output, force || !output.to_str().is_some_and(is_trace))
}

/// Whether two names are of one file that is there.
pub(super) fn is_same(one: &Path, other: &Path) -> bool {
    let whole = |path| fs::canonicalize(path).ok();
    whole(one).is_some_and(|one| whole(other) == Some(one))
}

/// The first that is free of `STEM.hst`, `STEM.2.hst`, `STEM.3.hst` and so on.
pub(super) fn free_name(stem: &str) -> PathBuf {
    let numbered = (2..).map(|number: u64| format!("{stem}.{number}.hst"));
    let mut names = [format!("{stem}.hst")].into_iter().chain(numbered).map(PathBuf::from);
    names.find(|path| !holds_something(path)).expect("there are more numbers than files")
}

fn holds_something(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() > 0)
}

/// A file to write a trace into.
pub(super) fn create(path: &Path) -> Result<BufWriter<File>> {
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(BufWriter::with_capacity(1 << 16, file))
}

/// Standard output for an answer. A text loses its colors where the terminal shows none; JSON has none to look for, and
/// looking took four fifths of the time of a report of deep stacks.
pub(super) fn stdout(json: bool) -> BufWriter<Box<dyn Write>> {
    match json {
        true => BufWriter::with_capacity(1 << 16, Box::new(io::stdout().lock())),
        false => BufWriter::new(Box::new(anstream::stdout().lock())),
    }
}

/// The same for a text of sentences, whose lines fit where somebody says how wide they may be.
pub(super) fn text(json: bool) -> BufWriter<Box<dyn Write>> {
    match terminal::limit(&io::stdout()).filter(|_| !json) {
        Some(columns) => BufWriter::new(Box::new(Fitted::new(anstream::stdout().lock(), columns))),
        None => stdout(json),
    }
}

/// Columns of standard output; the same number always where nobody says that it is narrow, so that texts can be compared.
pub(super) fn columns() -> usize {
    terminal::limit(&io::stdout()).unwrap_or(WIDTH)
}

/// Prints a text, all of it or a screen.
pub(super) fn first_screen(out: &mut dyn Write, text: &[u8], is_full: bool) -> Result<()> {
    if is_full {
        return Ok(out.write_all(text)?);
    }
    let lines = screen(&String::from_utf8_lossy(text));
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_holds_is_not_replaced() {
        let place = tempfile::tempdir().unwrap();
        let [empty, full, missing] = ["empty", "full", "missing"].map(|name| place.path().join(name));
        fs::write(&empty, b"").unwrap();
        fs::write(&full, b"x").unwrap();
        for (path, force, is_taken) in [
            (&*empty, false, true),
            (&full, false, false),
            (&full, true, true),
            (&missing, false, true),
            (Path::new("/dev/null"), false, true),
        ] {
            assert_eq!(reject_existing(path, force).is_ok(), is_taken, "{}", path.display());
        }
    }

    #[test]
    fn a_trace_is_not_replaced_by_another_nor_by_itself() {
        let place = tempfile::tempdir().unwrap();
        let [input, trace, other] = ["in.hst", "run.hst", "run.csv"].map(|name| place.path().join(name));
        let mut bytes = Vec::new();
        heapscribe_formats::Writer::new().start(&heapscribe_formats::SessionInfo::default(), &mut bytes);
        for path in [&input, &trace] {
            fs::write(path, &bytes).unwrap();
        }
        fs::write(&other, b"x").unwrap();
        for (output, force, is_taken) in [
            (&input, false, false),
            (&input, true, false),
            (&trace, false, false),
            (&trace, true, true),
            (&other, false, true),
        ] {
            assert_eq!(reject(&input, output, force).is_ok(), is_taken, "{}", output.display());
        }
    }

    #[test]
    fn names_are_numbered() {
        let place = tempfile::tempdir().unwrap();
        let stem = place.path().join("heapscribe.server.4711").display().to_string();
        for expected in ["", ".2", ".3"] {
            let name = free_name(&stem);
            assert_eq!(name, PathBuf::from(format!("{stem}{expected}.hst")));
            fs::write(name, b"a snapshot").unwrap();
        }
    }
}
