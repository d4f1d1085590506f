//! What is live in a process, on a terminal, as it changes: `heapscribe top`.
//!
//! *You bring* a session. *It guarantees* to leave the process alone but for a moment's hold at each look,
//! and the terminal as it was, however it ends. *It refuses* terminals of less than 40 columns.
//!
//! `look` asks the session, `history` keeps what changes from look to look, `names` keeps what code is called, `state` is what the user sees and does
//! without any terminal, `view` draws it, and `run` is the loop of them. `pool` is the screen of a process that is
//! not recorded, but has a heap under it that tells of itself.

mod history;
mod look;
mod names;
mod pool;
mod run;
mod state;
mod view;

pub(crate) use pool::Pool;
pub(crate) use run::{once, run};
