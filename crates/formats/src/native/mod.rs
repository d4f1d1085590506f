//! Our own trace file. This page is its specification; integers are little-endian.
//!
//! A trace has to survive what happens to its writer: a kill, a full disk, a bad sector. So it is a row of
//! blocks, each of which can be found, checked and decoded alone; the index at the end is an optimization.
//!
//! ```text
//!   file     header (32)   block ...   footer (32)
//!
//!   header    0  magic 89 "HSCR" 0d 0a 1a     8  major u16       10  minor u16      12  flags u32, 0
//!            16  started real ns u64         24  wire abi u32    28  crc of 0..28
//!   block     0  sync f1 "hsB"                4  kind u8          5  codec u8        6  reserved u16, 0
//!             8  process u32, ff.. for none  12  number u32      16  raw length u32
//!            20  stored length u32           24  crc of the stored bytes           28  crc of 0..28
//!            32  stored bytes, then zeros up to a multiple of 8
//!   footer    0  magic "HSCREND" 0a           8  offset of the last index block u64
//!            16  length of the file u64      24  blocks u32      28  crc of 0..28
//! ```
//! A crc is CRC-32C. Blocks are numbered from 0. Codec 0 is the raw bytes, 1 one zstd frame; the stored
//! length is never over the raw one, which is at most 256 KiB for events and 1 MiB for all else.
//! Sessions, processes and ends are never compressed, so that a small file cannot ask for much memory.
//!
//! ```text
//!   kind 1 session      started mono  started real  host  version  command
//!                       rules of real time: sections (list)  marks (list)  threads (list)
//!   kind 2 process      pid  parent pid  stage  created mono  created real  parent's created mono
//!                       created ticks  clock kind  clock shift  exe  command
//!   kind 3 definitions  next node u32  0 u32  last pc u64, then definitions as `wire::defs` has them
//!   kind 4 events       thread u32  cut u32  sequence u64  begin ticks u64  begin mono u64
//!                       end ticks u64  end mono u64  last alloc u64, then events in columns, see `columns`
//!   kind 5 memory       samples: mono  rss  shared  virtual, each zigzag against the sample before
//!   kind 6 process end  ended mono  how  threads  own bytes  spilled bytes  note  count and drops
//!                       stacks verified  different
//!                       call that broke a rule: how (0 none)  call  thread  name  stack  size  ticks
//!   kind 7 session end  ended mono  how (0 running, 1 code, 2 signal)  zigzag of the code
//!                       of the drainer: waiting bytes  waiting ns  full logs  hurried chunks
//!                       cpu ns  peak rss
//!   kind 8 index        see `index`: every block since the index block before it
//!   kind 9 live         see `live_tables`: the head of a table of the blocks that were live in a process
//!   kind 10 blocks      see `live_tables`: up to 16384 blocks that were, in columns
//!   kind 11 evicted     see `evicted`: sums over events that a ring has dropped
//!   kind 12 heap        name  configuration, then samples: mono and 12 counts (`wire::heap`), as of kind 5
//!   kind 13 memory map  see `memory_maps`: what a process had mapped beside a table of its live blocks
//!   kind 14 pages       see `memory_maps`: up to 512 mappings, 32768 runs of pages in memory and 4096 free ranges
//!   kind 15 symbols     see `symbols`: names of code addresses, by the files that they lie in
//!   kind 16 resident    see `resident`: of what the resident memory was made, up to 1024 samples
//! ```
//! What has no type is a varint; texts are a varint length and bytes; a command is a varint count and
//! texts. `cut` counts bytes that followed the events of a chunk and were none. Fields may be added at
//! the end of kinds 1, 2, 6, 7, 9 and 13, and kinds may be added, in a minor version: readers pass over what they
//! do not know. They refuse a later major version or wire abi.
//!
//! Every thread's chunks stand in order, and definitions before the events that need them. A chunk's
//! definitions slice starts with the numbering it continues, so that damage to one costs only itself.
//!
//! *Lost on the way into this format*: nothing of the session but padding of the log; texts over 64 KiB
//! and commands over 4096 words are cut.

pub mod block;
mod catalog;
mod chunk;
pub mod columns;
mod definitions;
mod evicted;
mod fields;
pub mod header;
mod heap_samples;
mod index;
mod live_tables;
mod load;
mod memory_maps;
mod open;
mod pack;
pub mod read;
mod records;
mod resident;
mod scan;
pub mod splice;
mod symbols;
mod unrecorded;
pub mod write;

pub use header::is_begin;

#[cfg(test)]
mod tests;
