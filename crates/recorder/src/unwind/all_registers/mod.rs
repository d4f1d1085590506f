//! The slow walk: all general registers, every kind of row. For stacks that a packed rule cannot follow:
//! glibc's lazy binding keeps its frame in rbx, hand-written assembly (libcrypto) has expressions.
//!
//! Most frames have packed rules, so only the others are paid for:
//!
//! 1. step by `Unwinder::step` until a rule is `Other`;
//! 2. walk the same frames again from the last frame whose registers are all followed, row by row;
//! 3. one step by the frame's row, and on with 1.
//!
//! So it gives what `Unwinder::walk` gives, and continues where that ends with `End::OtherRule`. Before
//! the first such frame, the registers that a call keeps are taken as they are now, and followed out of
//! the recorder's own frames to the hook's caller; where that fails they are unknown, and a row that needs
//! one ends the walk as before.

mod full_frame;
mod registers;
mod row;
mod walk;

pub use full_frame::FullFrame;
pub use registers::AllRegisters;
pub use walk::full_walk;
