//! Profiles: sums by stack at one moment, as other profilers write them. There is no event in them, so nothing here
//! makes one up: who asks how old a block was, or which were temporary, is answered that the file does not say.
//!
//! *You bring* frames, calls and sums to a [`Builder`]. *It guarantees* that a caller stands before whom it calls, that no
//! sum of all stacks exceeds [`SUM_MAX`], so that views can add them up, and that its memory is a small multiple of the
//! file. *It refuses* larger sums: no machine has so many bytes, so such a file is damaged.

mod builder;
mod error;
mod model;
mod sampled;

pub use builder::{Builder, SUM_MAX};
pub use error::{Place, ProfileError};
pub use model::{
    About, CallNode, CallNumber, Frame, FrameNumber, Known, Line, Mapped, Origin, Profile, Rate, StackSums,
    Sum, Unit,
};
pub use sampled::{Unsampling, unsampled};
