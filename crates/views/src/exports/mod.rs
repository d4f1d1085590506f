//! Answers in the formats of other tools, which draw them or compare them.
//!
//! | format | what it holds | *lost on the way* |
//! |---|---|---|
//! | [`speedscope`] | a profile for each figure of the stacks | times |
//! | [`massif`] | the heap over time, who held the peak and what was never freed | blocks, what was allocated in all |
//! | [`dhat`] | of each stack all blocks, those of the peak, those of the end | who calls which stack when |
//! | [`chrome_trace`] | the heap over time, marks and sections | stacks |
//!
//! No figure is computed here: each is one of the answer, and of every other view.

pub mod chrome_trace;
pub mod dhat;
pub mod massif;
pub mod speedscope;
mod stacks;

pub use stacks::ExportedStacks;
