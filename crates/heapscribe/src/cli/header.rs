//! Flags of `heapscribe header`.

use std::path::PathBuf;

use clap::Args;

use super::help::TEMPLATE;
use crate::exit;

/// Print heapscribe.h, by which a C or C++ program says what it does, or headers for heaps of your own
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe header > heapscribe.h      for programs: marks, sections, pools
  heapscribe header --to include        all of them, for g++ -I include, and libheapscribe_table.a,
                                        which makes a heap in C or C++ one library for LD_PRELOAD
")]
pub(crate) struct HeaderArgs {
    /// heapscribe_heap.h: a heap in C, as a table of functions
    #[arg(long)]
    pub(crate) heap: bool,

    /// heaphook/heaphook.hpp: allocators in C++ that were written for heaphook; it needs heapscribe_heap.h
    #[arg(long, conflicts_with = "heap")]
    pub(crate) heaphook: bool,

    /// Write all headers, and libheapscribe_table.a, into this directory, each where it is to lie, and print none
    #[arg(long, value_name = "DIR", conflicts_with_all = ["heap", "heaphook"])]
    pub(crate) to: Option<PathBuf>,
}
