//! Frames of JavaScript that V8 runs, read in place.
//!
//! ```text
//!   frame pointer   -8 context   -16 function   -32 bytecode array   -40 bytecode offset      interpreted code
//!                   -8 context   -16 function                                                 compiled code
//!   function -> shared function info -> name and positions (scope info), script -> file, source
//!   bytecode array -> source positions: bytecode offset -> position -> line
//! ```
//! V8 has no list of frames that hangs on a thread: its frames are those of the native stack, which are found by the frame
//! pointer. So the frames of a thread ([`frames`]) are the native ones that have a function where V8 keeps it. All calls
//! of the interpreter return to one address: two stacks of one number may run different functions, and what each frame
//! has is looked at in each capture. The collector moves functions: a frame is known again by words of what it leads to,
//! which no other function has, and not by its address.
//!
//! Where everything lies is told by the constants that V8 has for debuggers (`v8dbg_*`), and what these do not tell by
//! [`layout`]; all of it is checked on the running program before it is believed ([`check`]), else stacks stay native.
//!
//! Code of the baseline compiler is led back to bytecodes by what it has of each ([`baseline`]), and optimized code has
//! positions of its calls and of what was inlined ([`optimized`]).
//!
//! What it refuses: to give a line that is not sure.

mod baseline;
mod bytecode;
mod bytecodes;
pub(crate) mod check;
mod code;
mod deoptimization;
pub(crate) mod frames;
mod function;
mod heap;
mod inlined;
mod layout;
mod literals;
mod location;
pub(crate) mod names;
pub(crate) mod native_stack;
mod optimized;
mod positions;
mod prologue;
mod running;
mod safepoints;
mod scope;
mod source;
#[cfg(test)]
mod tests;
mod text;
mod translation;
