/** What the server answers, as `docs/internals/viewer.md` describes it. For `tsc` alone: the browser never asks for it. */

import type { Flame } from "./flame_layout.js";
import type { Lane } from "./lanes.js";
import type { Density } from "./density.js";
import type { Ages } from "./lifetimes.js";

export interface Amount {
  bytes: number;
  blocks: number;
}

export interface Summary {
  trace: string;
  baseline: string | null;
  is_live: boolean;
  command: string[];
  host: string;
  begin_real_ns: number;
  duration_ns: number | null;
  has_index: boolean;
  has_messages: boolean;
  has_blocks: boolean;
  has_pages: boolean;
  shows: string[];
  processes: number;
  caveats: string[];
}

/** Equal steps; what is 0 in all of them is not there. */
export interface Timeline {
  begin_ns: number;
  step_ns: number;
  heap_max_bytes: number[];
  heap_end_bytes: number[];
  rss_bytes?: number[];
  anonymous_bytes?: number[];
  pool_bytes?: number[];
  allocations: number[];
  allocated_bytes: number[];
  frees: number[];
  freed_bytes: number[];
}

/** Marks and sections. */
export interface Notes {
  name: string[];
  is_section: boolean[];
  process: number[];
  from_ns: number[];
  to_ns: number[];
  left_out: number;
}

export interface Time {
  duration_ns: number;
  peak: { bytes: number; time_ns: number };
  timeline: Timeline;
  lanes: Lane[];
  notes: Notes;
}

/** A part of the timeline, finer; nothing where too many events would have to be read. */
export interface Zoom {
  timeline: Timeline | null;
}

/** Messages of a log: a row for those of a channel in a step. */
export interface Messages {
  channels: { channel_index: number; name: string | null; type: string | null; messages: number }[];
  left_out: number;
  step_ns: number;
  lane: number[];
  step: number[];
  messages: number[];
  queue_index: number[];
  time_ns: number[];
  size_bytes: number[];
  allocations: number[];
  allocated_bytes: number[];
  freed_bytes: number[];
}

export interface Culprit extends Amount {
  function: string;
  name: string;
  file: string | null;
  line: number | null;
}

export interface Finding {
  kind: string;
  show: string;
  severity: string;
  confidence: string;
  summary: string;
  try: string;
  more: number;
  culprits: Culprit[];
}

export interface Processes {
  pid: number[];
  name: string[];
  begin_ns: number[];
  end_ns: number[];
  peak_bytes: number[];
  left_bytes: number[];
}

export interface Threads {
  process: number[];
  thread: number[];
  tid: number[];
  name: string[];
  allocations: number[];
  allocated_bytes: number[];
}

export interface Whole {
  peak: Amount & { time_ns: number };
  left: Amount;
  allocations: number;
  allocated_bytes: number;
  frees: number;
  is_estimated: boolean;
  is_ring: boolean;
  duration_ns: number;
  caveats: string[];
  notes: string[];
  findings: Finding[];
  long_lived: { summary: string; more: number; culprits: Culprit[] } | null;
  processes: Processes;
  threads: Threads;
}

/** The names of what is chosen by number. */
export interface Drawn {
  focus: string | null;
  hidden: string[];
  collapsed: string[];
}

/** What answers to questions about blocks have in common. */
export interface Answered {
  total: Amount;
  before_total?: Amount;
  at_ns: number | null;
  drawn: Drawn;
}

export interface Functions extends Answered {
  all: number;
  function: number[];
  name: string[];
  file: string[];
  own_bytes: number[];
  own_blocks: number[];
  bytes: number[];
  blocks: number[];
}

/** The same beside other figures. */
export interface Changes extends Functions {
  before_own_bytes: number[];
  before_own_blocks: number[];
  before_bytes: number[];
  before_blocks: number[];
}

export interface Stacks extends Answered {
  all: number;
  names: string[];
  bytes: number[];
  blocks: number[];
  functions: number[][];
}

export interface Sizes extends Answered {
  from_bytes: number[];
  to_bytes: number[];
  blocks: number[];
  bytes: number[];
  unknown_blocks: number;
  unknown_bytes: number;
}

/** What rounding adds, by class of sizes; no classes where it is not known. */
export interface Rounding {
  from_bytes: number[];
  asked_bytes: number[];
  given_bytes: number[];
  note: string;
}

/** Live blocks by size, a row each, and by age, a column each. */
export interface Held {
  total: Amount;
  at_ns: number;
  ages_ns: number[];
  from_bytes: number[];
  to_bytes: number[];
  bytes: number[][];
  blocks: number[][];
}

export interface Band {
  process: number;
  thread: number | null;
  name: string;
  pid: number;
  max_bytes: number;
  bytes: number[];
}

/** The heap over time, told apart. */
export interface Bands {
  from_ns: number[];
  bands: Band[];
  rest_bytes: number[];
  others: number;
}

/** What the resident memory of a snapshot is, and its heap as cells of a map, by address. */
export interface Pages {
  page_bytes: number;
  cell_pages: number;
  resident_bytes: number;
  part: string[];
  part_name: string[];
  part_bytes: number[];
  is_heap: boolean[];
  pinned_bytes: number;
  page: number[];
  kind: string[];
  resident: number[];
  used: number[];
  live: number[];
  blocks: number[];
  youngest_ns: (number | null)[];
  oldest_ns: (number | null)[];
  is_sampled: boolean;
  problems: string[];
}

/** Stacks whose blocks are in some pages. */
export interface PageStacks {
  total_bytes: number;
  all: number;
  names: string[];
  bytes: number[];
  blocks: number[];
  functions: number[][];
}

/** Lines of a source file. */
export interface Source extends Answered {
  function: string;
  file: string | null;
  at: number | null;
  note: string | null;
  lines: number;
  first: number;
  text: string[];
  line: number[];
  own_bytes: number[];
  own_blocks: number[];
  bytes: number[];
  blocks: number[];
}

export interface Generations {
  from_ns: number[];
  to_ns: number[];
  allocated_bytes: number[];
  allocated_blocks: number[];
  retained_bytes: number[];
  retained_blocks: number[];
  left_bytes: number[];
  left_blocks: number[];
}

export interface Live {
  pid: number;
  is_running: boolean;
  records: string | null;
  is_off: boolean;
  ms: number[];
  bytes: number[];
  blocks: number[];
}

/** By the name of a view. */
export interface Views {
  flame: Flame & Answered;
  functions: Functions;
  changes: Changes;
  stacks: Stacks;
  sizes: Sizes;
  generations: Generations;
  held: Held;
  pages: Pages;
  lifetimes: Ages;
  density: Density;
  source: Source;
}

/** By the first part of a path. */
export interface Answers extends Views {
  summary: Summary;
  time: Time;
  zoom: Zoom;
  whole: Whole;
  messages: Messages;
  bands: Bands;
  page_stacks: PageStacks;
  rounding: Rounding;
  live: Live;
}
