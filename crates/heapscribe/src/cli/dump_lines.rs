//! What `dump --help` says of the lines that it prints.

/// Of a trace of ours.
pub(super) const DUMP_LINES: &str = "\
Lines:
  <time> <process> <thread> <sign> <size> <age> <stack> <call>
  time     ns since the first process started
  process  P and its number, in order of start
  thread   T and its number in the process
  sign     + allocated   - freed   ~ reallocated   ! refused   ? block not known   x events lost
           = live when a snapshot was taken, with its address in place of the call
           % sampling rate of the blocks that follow in this thread's turn
           @ what the program says of itself: mark, section_begin, section_end
  size     bytes; old>new for ~; how many for x; mean bytes between samples for %, - for
           every block
  age      ns since the block was born, for - and ~
  stack    S and the number of its innermost frame; old>new for ~; R and its
           number for %; N and the number of the name for @
  At the end of a call's line: align=N, from=T and its number when another thread had asked for the
  block, took=N: ns that the heap took for the call, where `record --latency` was told to say so.
  Definitions start with #: processes, files of code, threads, stacks, memory samples, ends.

  Of a Go trace: <time> <generation> <where> <event> <values> <stack> <text>
  where    P or M and the number of the processor or thread; - for none

Order:
  First each process with its definitions, then the events, then samples and ends. Events come as in
  the file: those of one thread in the order of time, different threads in turns of some thousand.
  Sort by the first column to mix them.";

/// Of a message log.
pub(super) const MESSAGE_LINES: &str = "\
Lines of a message log (AOS's, plain, .sz, .xz, or .zst):
  <time> <channel> <number> <kind> <size> <wall clock>[ < <time> <number> <wall clock> there]
  time     monotonic ns, of the node that the part is of; - where there is none
  channel  C and its index in the configuration
  number   Q and the queue index
  kind     message, delivery (when it came from another node), message+delivery, timestamp (when
           another node got it)
  size     bytes of data, - where only times were logged
  Then `sent` and the time at which the other node passed it on, `told` and the time at which the
  timestamp came back, where they are known.";
