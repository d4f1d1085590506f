//! The highest moment, and who held what at it.

mod candidates;
mod group;
mod height;
mod holding;
mod in_window;
mod levels;
mod live_end;
mod net;
mod reader;
mod search;
mod start;

pub(crate) use self::group::ChunkGroup;
pub(crate) use self::height::Height;
pub(crate) use self::holding::Holding;
pub(crate) use self::in_window::InWindow;
pub(crate) use self::levels::Levels;
pub(crate) use self::live_end::LiveEnd;
pub(crate) use self::net::Held;
pub(crate) use self::reader::ChangeReader;
pub(crate) use self::search::Search;
pub(crate) use self::start::{LiveAtStart, StartOf};
