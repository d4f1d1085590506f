//! The live heap of a process on a terminal: `heapscribe top`.
//!
//! *You bring* a session. *It guarantees* to leave the process alone but for a moment's hold at each look,
//! and the terminal as it was, however it ends. *It refuses* terminals of less than 40 columns.
//!
//! `look` reads the session, `history` keeps what changes from look to look, `growth` by how much each stack has, `names`
//! caches symbols, `rows` makes the rows, `state` is what the user sees and does without any terminal, `view` draws it,
//! and `run` is the loop. `pool` is the screen of a process that is not recorded but runs with another heap.

mod growth;
mod history;
mod look;
mod names;
mod pool;
mod rows;
mod run;
mod state;
mod view;

pub(crate) use pool::Pool;
pub(crate) use run::{once, run};
