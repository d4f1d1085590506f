//! The objects of a report of a Go trace.

use std::cmp::Reverse;
use std::io;

use heapscribe_analyze::answer::Amount;
use heapscribe_analyze::go::{Allocator, Objects, TypeSums};

use super::report::GoReport;
use crate::text::{Out, heading};
use heapscribe_convert::go_sums::{site_name, type_name};
use heapscribe_units::{bytes, count, counted, percent, percent_cell, short_bytes};

/// Width of the longest bar.
const BAR: u64 = 20;

fn amount(of: Amount) -> String {
    format!("{} of {}", counted(of.blocks, "object"), bytes(of.bytes))
}

impl GoReport<'_> {
    pub(super) fn objects(&self, out: Out<'_>, of: &Objects) -> io::Result<()> {
        heading(out, "Objects")?;
        writeln!(out, "  At the start: {}.", amount(of.there))?;
        writeln!(out, "  Allocated:    {}.", amount(of.allocated))?;
        writeln!(out, "  Swept:        {}.", amount(of.freed))?;
        writeln!(out, "  At the end:   {}.", amount(of.live))?;
        writeln!(out, "  Peak {}, {} after the start.", bytes(of.peak.bytes), self.time(of.peak.ns))?;
        writeln!(out, "  The size of an object is that of its slot; it is live until it is swept.")?;
        for (number, what) in [
            (of.without_size, "in unknown spans, counted as 0 bytes"),
            (of.unknown_frees, "swept without a known allocation"),
            (of.replaced, "replaced without being swept"),
        ] {
            if number != 0 {
                writeln!(out, "  {}: {what}.", counted(number, "object"))?;
            }
        }
        self.types(out, of)?;
        self.allocators(out, of)?;
        self.lifetimes(out, of)
    }

    fn types(&self, out: Out<'_>, of: &Objects) -> io::Result<()> {
        heading(out, "Types with the most bytes")?;
        for (n, of_type) in of.types.iter().take(self.top).enumerate() {
            writeln!(out, "{:>4}. {}", n + 1, type_name(of_type))?;
            self.of_type(out, of_type)?;
        }
        Ok(())
    }

    fn of_type(&self, out: Out<'_>, of: &TypeSums) -> io::Result<()> {
        let part =
            |name: &str, of: Amount| format!("{name} {} of {}", count(of.blocks), short_bytes(of.bytes));
        let parts =
            [("there", of.there), ("allocated", of.allocated), ("swept", of.freed), ("left", of.live)];
        let parts: Vec<_> =
            parts.iter().filter(|(_, of)| of.blocks != 0).map(|(name, of)| part(name, *of)).collect();
        writeln!(out, "        {}", parts.join(", "))?;
        let lived = of.lived;
        match lived.total_ns.checked_div(lived.count) {
            None => Ok(()),
            Some(mean) => {
                writeln!(
                    out,
                    "        lived {} on average, at most {}",
                    self.time(mean),
                    self.time(lived.longest_ns)
                )
            }
        }
    }

    fn allocators(&self, out: Out<'_>, of: &Objects) -> io::Result<()> {
        let mut all: Vec<&Allocator> = of.allocators.iter().filter(|a| a.allocated.blocks != 0).collect();
        all.sort_by_key(|a| Reverse(a.allocated.bytes));
        heading(out, "Goroutines and types with the most bytes allocated")?;
        for (n, allocator) in all.into_iter().take(self.top).enumerate() {
            let share = percent(allocator.allocated.bytes, of.allocated.bytes);
            let of_type = of.types.get(allocator.type_index).map(type_name).unwrap_or_default();
            writeln!(out, "{:>4}. {share}: {}", n + 1, amount(allocator.allocated))?;
            writeln!(out, "        {of_type}")?;
            writeln!(out, "        in goroutines of {}", site_name(allocator))?;
        }
        Ok(())
    }

    fn lifetimes(&self, out: Out<'_>, of: &Objects) -> io::Result<()> {
        let Some(most) = of.lifetimes.iter().map(|class| class.count).max() else { return Ok(()) };
        heading(out, "Time until objects were swept")?;
        let all = of.lifetimes.iter().map(|class| class.count).sum();
        for class in &of.lifetimes {
            let range = format!("{} to {}", self.time(class.from_ns), self.time(class.to_ns));
            let bar =
                "#".repeat((u128::from(class.count) * u128::from(BAR)).div_ceil(u128::from(most)) as usize);
            writeln!(
                out,
                "  {range:>29} {:>14} {:>8} {bar}",
                count(class.count),
                percent_cell(class.count, all)
            )?;
        }
        Ok(())
    }
}
