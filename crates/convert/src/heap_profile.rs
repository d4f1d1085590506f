//! Files of profiles, opened: unpacked, read, and with the identity of the files that names come from.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use heapscribe_diagnostics::Problem;
use heapscribe_formats::detect::Format;
use heapscribe_formats::profile::{About, ProfileError};
use heapscribe_formats::{HowEnded, ProcessEnd, ProcessInfo, SessionInfo, heaptext, pprof, valgrind};
use heapscribe_symbols as symbols;

use crate::file_source::FileSource;
use crate::heaptrack;
use crate::native::writer::NativeWriter;
use crate::opened_trace::Opened;
use crate::profile_sums::{Sums, command, sums};

/// What a profile has at most when it is unpacked; those of programs have some MB.
const BYTES_MAX: u64 = 1 << 30;

/// Whether files of a format are profiles.
pub fn is_one(format: Format) -> bool {
    matches!(format, Format::Pprof | Format::HeapText | Format::Dhat | Format::Massif)
}

/// Reads a file of one of these formats.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn open(file: &FileSource, format: Format, path: &Path) -> Result<Opened> {
    let shown = path.display();
    let mut bytes = Vec::new();
    let unpacked = heaptrack::unpacked(&file.file).with_context(|| format!("cannot read {shown}"))?;
    unpacked.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|e| {
        Problem::new(
            format!("{shown} cannot be unpacked: {e}"),
            "write the profile again; it is cut or damaged",
        )
    })?;
    if bytes.len() as u64 > BYTES_MAX {
        let what = format!("{shown} has more than {BYTES_MAX} bytes when it is unpacked");
        return Err(Problem::new(what, "merge fewer profiles into one").into());
    }
    let read = match format {
        Format::Pprof => pprof::read(&bytes),
        Format::Dhat => valgrind::read_dhat(&bytes),
        Format::Massif => valgrind::read_massif(&bytes),
        _ => heaptext::read(&bytes),
    };
    let profile = read.map_err(|e| unreadable(path, &e))?;
    drop(bytes);
    let mut sums = sums(profile);
    name_by_date(&mut sums, file);
    opened(sums)
}

/// Sums as what commands open.
pub(crate) fn opened(sums: Sums) -> Result<Opened> {
    let made = Opened::made(|file| trace_without_events(&sums.about, file))?;
    let opened = made.opened(|()| Vec::new()).context("cannot read a temporary file")?;
    Ok(Opened { profile: Some(sums), ..opened })
}

/// Takes files as those that ran which did not change since the profile was written, where it has no build ids.
fn name_by_date(sums: &mut Sums, profile: &FileSource) {
    let written = profile.file.metadata().and_then(|meta| meta.modified());
    for module in &mut sums.answer.tree.modules {
        let path = String::from_utf8_lossy(&module.path).into_owned();
        if !module.build_id.is_empty() || !path.starts_with('/') {
            continue;
        }
        let changed = std::fs::metadata(&path).and_then(|meta| meta.modified());
        let is_older = matches!((&changed, &written), (Ok(changed), Ok(written)) if changed <= written);
        if let (true, Ok(now)) = (is_older, symbols::Module::of_file(&path)) {
            module.build_id = now.build_id;
            sums.has_names_of_today = true;
        }
    }
}

fn unreadable(path: &Path, error: &ProfileError) -> Problem {
    Problem::new(format!("{}: {error}", path.display()), "write the profile again; nothing of it can be read")
}

/// What has the place of a trace: a process of which nothing is recorded.
fn trace_without_events(about: &About, out: &std::fs::File) -> Result<()> {
    let command = command(about);
    let session = SessionInfo { command: command.clone(), ..SessionInfo::default() };
    let process = ProcessInfo { command, ..ProcessInfo::default() };
    let end = ProcessEnd { how: HowEnded::Exited, ..ProcessEnd::default() };
    Ok(NativeWriter::begin(&session, &process, out)?.finish(&end)?)
}
