//! Why a message cannot be logged, and which routes cannot be.

use crate::pack::PackError;
use crate::write::WriteError;

/// Why a message was not logged, or not everywhere it should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogError {
    /// There is no such route.
    NoSuchRoute(usize),
    /// The record cannot be made.
    Pack(PackError),
    /// The writer of that index cannot write.
    Write(usize, WriteError),
}

impl std::fmt::Display for LogError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LogError::NoSuchRoute(route) => write!(f, "there is no route {route}"),
            LogError::Pack(error) => error.fmt(f),
            LogError::Write(writer, error) => write!(f, "writer {writer}: {error}"),
        }
    }
}

impl std::error::Error for LogError {}

/// Routes that do not fit to the writers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RouteError {
    /// The route of that index names a writer that is not there.
    NoSuchWriter(usize),
    /// The route of that index writes data as a kind that the layout does not have, or that has no data.
    NoSuchKind(usize),
}

impl std::fmt::Display for RouteError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RouteError::NoSuchWriter(route) => write!(f, "route {route} names a writer that is not there"),
            RouteError::NoSuchKind(route) => write!(f, "route {route} writes data as a kind that has none"),
        }
    }
}

impl std::error::Error for RouteError {}
