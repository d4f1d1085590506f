//! What `dump --help` says about the lines that it prints.

/// Of a trace of ours.
pub(super) const DUMP_LINES: &str = "\
Lines:
  <time> <process> <thread> <sign> <size> <age> <stack> <call>
  time     ns since the first process started
  process  P and its number, in order of start
  thread   T and its number in the process
  sign     + allocated   - freed   ~ reallocated   ! failed   ? unknown block   x events lost
           = live when a snapshot was taken, with its address instead of the call
           % sampling rate of the blocks that follow in this part of the thread
           @ annotation of the program: mark, section_begin, section_end
           m mapping of the program's own (--track-mmap): map, unmap, move, protect, then addresses
  size     bytes; old>new for ~; number of events for x; mean bytes between samples for %, or -
           for every block
  age      ns since the block was allocated, for - and ~
  stack    S and the number of its innermost frame; old>new for ~; R and its number for %;
           N and the number of the name for @
  Calls can end with: align=N; from=T and a number, if another thread allocated the block; took=N,
  the time of the call in ns, if it was recorded with --latency.
  Lines that start with # are definitions: processes, modules, threads, stacks, memory samples, ends.

  Of a Go trace: <time> <generation> <where> <event> <values> <stack> <text>
  where    P or M and the number of the processor or thread, or -

Order:
  Processes and their definitions come first, then events, then samples and ends. Events have the
  order of the file: the events of a thread are sorted by time, but threads take turns every few
  thousand events. Sort by the first column to interleave them.";

/// Of a message log.
pub(super) const MESSAGE_LINES: &str = "\
Lines of an AOS message log:
  <time> <channel> <number> <kind> <size> <wall clock>[ < <time> <number> <wall clock> there]
  time     monotonic ns on the node that wrote the part, or -
  channel  C and its index in the configuration
  number   Q and the queue index
  kind     message, delivery (when it arrived from another node), message+delivery, timestamp (when
           it arrived at another node)
  size     bytes of data, or - if only times were logged
  Then, if known: `sent` with the time at which the other node forwarded it, `told` with the time at
  which the timestamp came back, `on` with the channel's name and type (if the configuration is in
  the part).";
