//! The command line of `header`.

use std::path::PathBuf;

use clap::Args;

use super::help::TEMPLATE;
use crate::exit;

/// Print the C headers for annotations and custom heaps
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe header > heapscribe.h      for programs that set marks, sections and pools
  heapscribe header --to include        all headers, and libheapscribe_table.a, which turns a heap
                                        in C or C++ into a library for LD_PRELOAD
")]
pub(crate) struct HeaderArgs {
    /// Print heapscribe_heap.h, for a heap in C
    #[arg(long)]
    pub(crate) heap: bool,

    /// Print heaphook/heaphook.hpp, for C++ allocators written for heaphook; needs heapscribe_heap.h
    #[arg(long, conflicts_with = "heap")]
    pub(crate) heaphook: bool,

    /// Write all headers and libheapscribe_table.a into DIR instead of printing
    #[arg(long, value_name = "DIR", conflicts_with_all = ["heap", "heaphook"])]
    pub(crate) to: Option<PathBuf>,
}
