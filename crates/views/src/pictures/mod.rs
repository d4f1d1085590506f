//! Pictures of what changes with time, for print and for the screen: panels below each other over one
//! axis, drawn as SVG, and from that made into PDF or PNG.
//!
//! *You bring* series of numbers with their units. *It guarantees* that they can be told apart in print
//! without colours too: by dashes, by areas and by what stands at them. *It refuses* to say more than the
//! data does: a series without a number at some time has a gap there.

mod draw;
mod form;
mod from_go;
mod from_trace;
mod picture;

pub use draw::svg;
pub use form::Form;
pub use from_go::picture_of_go;
pub use from_trace::picture;
pub use picture::{Clock, Panel, Picture, Series, Style, Unit};
