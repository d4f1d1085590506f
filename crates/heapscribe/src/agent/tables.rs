//! A window as two files of Parquet, `DIR/host=H/date=D/SERVICE.RUN.WINDOW.samples.parquet` and `... .stacks.parquet`. Names
//! are those of the window: what is written again replaces what it was.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use heapscribe_convert::Opened;
use heapscribe_convert::tables::batch::{TableFacts, TableWriter as _};
use heapscribe_convert::tables::output::{ROWS_AT_ONCE, SCHEMA_VERSION, TableFile, TableFormat};
use heapscribe_convert::tables::rows::Rows;
use heapscribe_convert::tables::samples::{self, Origin, SORTED_BY};
use heapscribe_convert::tables::stacks::Stacks;
use heapscribe_symbols::Resolver;

use super::place::{self, Place};

/// Of whom windows are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Whose {
    pub(crate) host: String,
    pub(crate) service: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) labels: BTreeMap<String, String>,
}

/// Where the files of a window go, without what tells the two apart.
pub(super) struct Names {
    directory: PathBuf,
    stem: String,
}

impl Names {
    /// Of a window that began so many ns after 1970, the only one of the run with this number.
    pub(super) fn new(
        out: &Path,
        host: &str,
        service: &str,
        run: &str,
        (number, real_ns): (u64, u64),
    ) -> Names {
        let (host, service) = (place::plain(host), place::plain(service));
        let directory = out.join(format!("host={host}")).join(format!("date={}", date(real_ns)));
        Names { directory, stem: format!("{service}.{run}.{number:020}") }
    }
}

/// Writes both.
pub(super) fn write(
    rows: &Rows,
    trace: &Opened,
    whose: &Whose,
    names: &Names,
    (place, rate): (&Place, &str),
) -> Result<()> {
    let mut origin = Origin::of(trace);
    origin.service.clone_from(&whose.service);
    origin.version.clone_from(&whose.version);
    origin.labels.clone_from(&whose.labels);
    let unfinished = place.unfinished();
    let facts = |name: &'static str, sorted_by: &[usize]| TableFacts {
        name,
        sorted_by: sorted_by.to_vec(),
        facts: vec![
            ("heapscribe.schema", SCHEMA_VERSION.to_owned()),
            ("heapscribe.version", env!("CARGO_PKG_VERSION").to_owned()),
            ("heapscribe.sampled_each_bytes", rate.to_owned()),
            ("heapscribe.missing", rows.problems.join("; ")),
        ],
    };
    let mut stacks = Stacks::default();
    let nodes: Vec<_> = rows.rows.iter().map(|row| row.node).collect();
    // Names are for those who have the files of all builds: hosts send build ids and offsets.
    stacks.add(&rows.tree, &nodes, &Resolver::without_files());
    let files = || -> std::io::Result<()> {
        let begin_ns = heapscribe_analyze::input::History::session(&trace.recording()).begin_mono_ns;
        let mut file = TableFile::create(&unfinished, TableFormat::Parquet, facts("stacks", &[0]))?;
        stacks.batches(ROWS_AT_ONCE).try_for_each(|batch| file.write(&batch))?;
        file.close()?;
        let mut file = TableFile::create(&unfinished, TableFormat::Parquet, facts("samples", &SORTED_BY))?;
        samples::batches(rows, &origin, begin_ns, ROWS_AT_ONCE).try_for_each(|batch| file.write(&batch))?;
        file.close()?;
        // The samples come last: who sees them finds their stacks.
        for name in ["stacks.parquet", "samples.parquet"] {
            place::put(&unfinished.join(name), &names.directory.join(format!("{}.{name}", names.stem)))?;
        }
        fs::remove_dir_all(&unfinished)
    };
    files().with_context(|| format!("cannot write into {}", names.directory.display()))
}

/// The day, UTC, as `2026-11-23`: by the civil calendar, whose years begin with March here.
fn date(real_ns: u64) -> String {
    let days = real_ns / 86_400_000_000_000 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        let day = |days: u64| date(days * 86_400_000_000_000 + 1);
        // As `date -u -d @SECONDS +%F` says.
        assert_eq!(
            [0, 59, 11_016, 20_780].map(day),
            ["1970-01-01", "1970-03-01", "2000-02-29", "2026-11-23"]
        );
    }
}
