//! Where a command's names come from: bundles that its user gives, what the trace has itself, the files of this machine.

use anyhow::Result;
use heapscribe_convert::{Opened, symbols};
use heapscribe_symbols::{Resolver, SymbolTables};

use crate::cli::SymbolArgs;
use crate::message;

/// Looks up names for these traces.
///
/// # Errors
/// When a bundle is none.
pub(super) fn resolver(args: &SymbolArgs, traces: &[&Opened]) -> Result<Resolver> {
    let (mut tables, mut problems) = (SymbolTables::default(), Vec::new());
    let sessions: Vec<_> = traces.iter().map(|trace| trace.session()).collect();
    for bundle in &args.bundles {
        problems.extend(symbols::from_bundle(bundle, &sessions, &mut tables)?);
    }
    for trace in traces {
        problems.extend(symbols::embedded(trace, &mut tables)?);
    }
    for problem in problems {
        message::warning(&format!("names are missing: {problem}"));
    }
    Ok(crate::progress::resolver(&args.debug_dir).with_tables(tables))
}
