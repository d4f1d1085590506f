//! What a recording allocates in one window of time after the other, followed while it runs: each event is counted once,
//! in the window in which it was read, and what is live is carried from window to window. Nothing grows with the
//! recording but what its stacks, threads and live blocks need.
//!
//! | file | what it has |
//! |---|---|
//! | `definitions` | what the numbers in events mean, as a trace without events |
//! | `image` | the sums of one process image, and how far its chunks were counted |
//! | `saved` | an image as lines of text, so that another process goes on where one was killed |
//! | `window` | the images as rows of tables and samples of profiles |

mod definitions;
mod image;
mod saved;
mod window;

pub use definitions::DefinitionsTrace;
pub use image::{Counted, Image, ImageKey};
pub use saved::BadLine;
pub use window::{Window, rows, samples};
