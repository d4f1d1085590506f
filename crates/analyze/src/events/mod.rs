//! What one event means, at the place in its chunk where it stands: the blocks that it allocates and frees,
//! the call that it is, the sections that its thread is in.

mod call;
mod change;
mod sections;

pub(crate) use self::call::{CallRow, HeapCall};
pub use self::change::{BlockChange, Blocks, Changes, Scale};
pub use self::sections::OpenSections;
pub use crate::sampling::{Half, Rates, Weight};
