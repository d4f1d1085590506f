//! What runtimes with a compiler of their own say of the code that they make: the text file that `perf` reads
//! ([`perf_map`]), and its binary log with times and lines ([`jit_dump`]).
//!
//! Neither has a format of its own for what a function is called. [`function`] takes names apart as V8, the JVM, CPython
//! and others write them.
//!
//! *Lost on the way*: the machine code itself.

pub mod function;
pub mod jit_dump;
pub mod perf_map;

use std::sync::Arc;

/// A piece of machine code that a runtime made. What is long is shared by its copies.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct JitCode {
    /// Its first address.
    pub start: u64,
    /// The address after its last.
    pub end: u64,
    /// What the runtime calls it.
    pub name: Arc<[u8]>,
    /// Lines of its source, ascending.
    pub lines: Arc<[JitLine]>,
    /// When it was made: in a dump by the dump's clock, in a perf map the bytes that the map had then.
    pub made: u64,
    /// When a dump has it moved elsewhere, if it does.
    pub moved: Option<u64>,
}

/// A line of the source of a piece of machine code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JitLine {
    /// Bytes from the begin of the piece to where it begins.
    pub offset: u64,
    /// Its file.
    pub file: Arc<[u8]>,
    /// Its number.
    pub line: u32,
}

/// Code pieces that a file has at most; a JVM's code cache holds a tenth of that.
const PIECES_MAX: usize = 4 << 20;
