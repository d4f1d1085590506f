//! `heapscribe subsample` and `heapscribe redact`: a trace with fewer blocks, or without names, in the format
//! that it has.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use heapscribe_formats::memtrace::{self, CopyError, Info, Locations, Order, Reader, WriteOptions};
use heapscribe_formats::{Scratch, Source, Trace};
use heapscribe_wire::definitions::Definition;

use super::output::create;
use super::{output, partial, range};
use crate::cli::{RedactArgs, SubsampleArgs};
use heapscribe_convert::native::changes::Changes;
use heapscribe_convert::native::redact::Redactor;
use heapscribe_convert::native::rewrite::{check_thin, rewrite};
use heapscribe_convert::native::thin::Thin;
use heapscribe_convert::{Input, Kind};
use heapscribe_diagnostics::Problem;
use heapscribe_formats::detect::Format;

/// Runs `subsample`.
pub(crate) fn subsample(args: &SubsampleArgs) -> Result<ExitCode> {
    output::reject(&args.trace, &args.output, args.force)?;
    let input = Input::open(&args.trace)?;
    let problems = if input.kind() == Kind::File(Format::Memtrace) {
        let time_ns = range::time_of(&args.from, &args.to, None)?;
        let mut reader = input.into_memtrace(args.salvage.options(true))?;
        let info = reader.info().clone();
        let rate = args.rate.unwrap_or(info.sample_rate);
        let part = rate / info.sample_rate;
        check_rate(args, part > 1.0)?;
        let thin = Thin::new(args.rate, time_ns, args.seed, BTreeMap::new());
        let in_time = |moment: &memtrace::Moment<'_>| {
            thin.is_in_time(u64::try_from(moment.time_us).unwrap_or(0).saturating_mul(1000))
        };
        let mut changes = memtrace::Changes {
            info: Info { sample_rate: rate, ..info },
            locations: None,
            samples: &|moment, alloc| {
                if in_time(moment) { thin.samples(alloc.id, alloc.samples, part) } else { 0 }
            },
            ends: &in_time,
            skipped_promotions: 0,
        };
        copied(&mut reader, create(&args.output)?, &mut changes)?
    } else {
        let trace = input.into_trace(args.salvage.into())?;
        let time_ns = range::time_of(&args.from, &args.to, Some((&trace, &args.trace)))?;
        let means = means(&trace)?;
        let finest = means.values().copied().max().unwrap_or(0);
        let thin = Thin::new(args.rate, time_ns, args.seed, means);
        check_rate(args, args.rate.is_some() && thin.mean_bytes() < finest)?;
        check_thin(&trace, &thin)?;
        let changes = Changes { thin: Some(&thin), rename: None };
        rewrite(&trace, create(&args.output)?, &changes)?
    };
    Ok(partial::exit_code(&args.trace, &problems, true))
}

fn check_rate(args: &SubsampleArgs, is_finer: bool) -> Result<(), Problem> {
    let shown = args.trace.display();
    if is_finer {
        return Err(Problem::new(
            format!("{shown} was sampled at a lower rate than --rate"),
            "use a lower --rate",
        ));
    }
    Ok(())
}

/// Copies a memtrace file in its order, up to damage unless that is skipped; returns the problems.
pub(super) fn copied<S: Source>(
    reader: &mut Reader<S>,
    out: impl Write,
    changes: &mut memtrace::Changes<'_>,
) -> Result<Vec<String>> {
    let options = WriteOptions { order: Order::Multiplexed, ..WriteOptions::default() };
    let read = match memtrace::copy(reader, out, options, changes) {
        Ok(mut out) => {
            out.flush()?;
            None
        }
        Err(CopyError::Read(e)) => Some(e.to_string()),
        Err(e) => return Err(e.into()),
    };
    let skipped = changes.skipped_promotions;
    let unreadable = (skipped != 0).then(|| format!("promotions that no reader could read: {skipped}"));
    Ok(reader.skipped().iter().map(ToString::to_string).chain(read).chain(unreadable).collect())
}

/// Mean bytes between samples, by rate number; the larger one where processes differ.
fn means<S: Source>(trace: &Trace<S>) -> Result<BTreeMap<u8, u64>> {
    let mut means: BTreeMap<u8, u64> = BTreeMap::new();
    for process in trace.processes() {
        trace.definitions(process.index, &mut Scratch::default(), |_, definition| {
            if let Definition::Rate { id, mean_bytes } = definition {
                let mean = means.entry(id.0).or_default();
                *mean = (*mean).max(*mean_bytes);
            }
        })?;
    }
    Ok(means)
}

/// Runs `redact`.
pub(crate) fn redact(args: &RedactArgs) -> Result<ExitCode> {
    output::reject(&args.trace, &args.output, args.force)?;
    let redactor = Redactor::new();
    let input = Input::open(&args.trace)?;
    let problems = if input.kind() == Kind::File(Format::Memtrace) {
        let locations = redactor.locations(&all_locations(args)?);
        let mut reader = input.into_memtrace(args.salvage.options(true))?;
        let info = redactor.info(reader.info());
        let mut changes = memtrace::Changes { locations: Some(&locations), ..memtrace::Changes::none(&info) };
        copied(&mut reader, create(&args.output)?, &mut changes)?
    } else {
        let trace = input.into_trace(args.salvage.into())?;
        let changes = Changes { thin: None, rename: Some(&|name| redactor.path(name)) };
        rewrite(&trace, create(&args.output)?, &changes)?
    };
    Ok(partial::exit_code(&args.trace, &problems, true))
}

/// All location codes of a file: they must be known before the first is written under another name.
fn all_locations(args: &RedactArgs) -> Result<Locations> {
    let mut reader = Input::open(&args.trace)?.into_memtrace(args.salvage.options(false))?;
    // A problem here is reported when the file is copied, which stops at the same place.
    let _ = reader.for_each(|_, _| std::ops::ControlFlow::<()>::Continue(()));
    Ok(reader.locations().clone())
}
