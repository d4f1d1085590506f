//! How much a page is sent: no more than can be seen.

/// Boxes of a flame graph.
pub(super) const NODES_MAX: usize = 20_000;
/// A box narrower than this part of the graph is less than a pixel of a screen 4,000 pixels wide.
pub(super) const PARTS: u64 = 4_000;
/// Levels of a flame graph: browsers draw nothing on a canvas that is higher than some 16,000 pixels.
pub(super) const LEVELS_MAX: u32 = 400;
/// Stacks of a page: who reads more than these looks at the flame graph.
pub(crate) const PAGE_STACKS_MAX: usize = 50;
/// Rows of a table.
pub(crate) const ROWS_MAX: usize = 1_000;
/// A source file, bytes: generated ones are larger, and nobody reads them.
pub(crate) const SOURCE_BYTES_MAX: u64 = 4 << 20;
/// Lines of it that are sent before and after the one that is shown.
pub(crate) const SOURCE_LINES_AROUND: usize = 200;
/// Characters of a line: what is longer is a table, or was made smaller by a program.
pub(crate) const SOURCE_LINE_CHARS_MAX: usize = 1_000;
/// Columns of the map of lifetimes.
pub(crate) const AGE_COLUMNS: u64 = 120;
/// Columns of the map of density, and cells of each of them: more cannot be told apart on a screen.
pub(crate) const DENSITY_COLUMNS: u64 = 200;
pub(crate) const DENSITY_CELLS: u64 = 50;
/// Columns of the map of what is held: ages that are halves of each other, the oldest one half of the time.
pub(crate) const HELD_COLUMNS: u32 = 8;
/// Bands of the heap over time that are told apart; the rest is one.
pub(crate) const BANDS_MAX: usize = 7;
/// Functions that are hidden, and libraries that are one box: each call is compared with each of them.
pub(crate) const SHAPE_MAX: usize = 100;
/// Generations that are asked for at once: each is three questions.
pub(crate) const GENERATIONS_MAX: usize = 64;
/// Processes whose heap is drawn over time, each for itself.
pub(crate) const LANES_MAX: usize = 8;
/// A lane is as high as at least one of so many parts of the highest one.
pub(crate) const LANE_PARTS: u64 = 32;
/// Channels of messages that are drawn over time, each for itself, and steps that each of them has.
pub(crate) const CHANNELS_MAX: usize = 8;
pub(crate) const MESSAGE_STEPS: u64 = 1_000;
/// Marks and sections: more than can be told apart on a screen.
pub(crate) const NOTES_MAX: usize = 2_000;
/// Processes that have a box each; where there are more, those of one program share a box.
pub(super) const SINGLE_PROCESSES_MAX: usize = 12;
