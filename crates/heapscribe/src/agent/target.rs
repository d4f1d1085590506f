//! Where windows go: into files, and into the spool for a collector.

use std::path::PathBuf;

use anyhow::{Context, Result};
use heapscribe_convert::Opened;
use heapscribe_convert::otlp::{self, post::gzip};
use heapscribe_convert::recorded::About;
use heapscribe_convert::rolling::{self, Image, Window};
use heapscribe_convert::tables::rows::Sum;
use heapscribe_symbols::Resolver;

use super::place::Place;
use super::spool::{Dropped, Spool};
use super::state::State;
use super::tables::{self, Names, Whose};

/// Where windows go.
pub(crate) struct Target {
    pub(crate) out: PathBuf,
    pub(crate) whose: Whose,
    /// The service in names of files.
    pub(crate) service: String,
    /// Where profiles wait for a collector, if there is one.
    pub(crate) spool: Option<Spool>,
}

/// Writes a window; what had to make room for it.
pub(super) fn write(
    target: &Target,
    (place, state): (&Place, &State),
    images: &[Image],
    trace: &Opened,
    to_ns: u64,
) -> Result<Dropped> {
    let from_ns = state.window_mono_ns;
    let rows = rolling::rows(images, trace, Window { from_ns, to_ns });
    let whose = &target.whose;
    let number = (from_ns, state.window_real_ns);
    let names = Names::new(&target.out, &whose.host, &target.service, &state.run, number);
    tables::write(&rows, trace, whose, &names, (place, &state.rate.to_string()))?;
    let Some(spool) = &target.spool else { return Ok(Dropped::default()) };
    let mut about = About::of(trace);
    about.begin_real_ns = state.window_real_ns;
    about.duration_ns = to_ns.saturating_sub(from_ns);
    about.service.clone_from(&whose.service);
    about.attributes.clone_from(&whose.labels);
    if let Some(version) = &whose.version {
        about.attributes.insert("service.version".to_owned(), version.clone());
    }
    let profile = otlp::of_samples(&rolling::samples(&rows), &about, &Resolver::without_files());
    let mut all = Sum::default();
    rows.rows.iter().for_each(|row| all.add(&row.allocated));
    let packed = gzip(&profile).context("cannot compress a profile")?;
    spool.add(from_ns, (all.blocks, all.bytes), &packed).context("cannot write into the spool")
}
