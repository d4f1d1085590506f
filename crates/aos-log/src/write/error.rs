//! Why a writer stops.

use crate::encode::EncodeError;

/// Why nothing more is written. An error is final, so that a log has no hole in its middle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteError {
    /// The disk is full, or what its user may have. What was written is readable; its last record may be torn.
    OutOfSpace,
    /// Another error of the system.
    Io(std::io::ErrorKind, Option<i32>),
    /// An error of the codec.
    Encode(EncodeError),
    /// A record of so many bytes is larger than the writer was made for. Only that record is dropped.
    TooLarge(usize),
}

impl std::fmt::Display for WriteError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            WriteError::OutOfSpace => f.write_str("there is no more space for the log"),
            WriteError::Io(kind, Some(code)) => write!(f, "the log cannot be written: {kind} (error {code})"),
            WriteError::Io(kind, None) => write!(f, "the log cannot be written: {kind}"),
            WriteError::Encode(error) => error.fmt(f),
            WriteError::TooLarge(bytes) => {
                write!(f, "a record of {bytes} bytes is larger than the writer takes")
            }
        }
    }
}

impl std::error::Error for WriteError {}
