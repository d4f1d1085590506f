//! The highest moment, and who held what at it.

mod candidates;
mod group;
mod height;
mod holding;
mod levels;
mod net;
mod reader;
mod search;

pub(crate) use self::group::ChunkGroup;
pub(crate) use self::height::Height;
pub(crate) use self::holding::Holding;
pub(crate) use self::levels::Levels;
pub(crate) use self::net::Held;
pub(crate) use self::reader::ChangeReader;
pub(crate) use self::search::Search;
