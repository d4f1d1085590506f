//! What the tests of all decoders need.

use super::input::Input;
use crate::read::error::ReadError;

/// The bytes that a decoder makes of a stream up to damage, and what that is.
pub(super) fn read_all<'a>(
    stream: &'a [u8],
    mut more: impl FnMut(&mut Input<&'a [u8]>, &mut Vec<u8>) -> Result<(), ReadError>,
) -> (Vec<u8>, Option<String>) {
    let (mut input, mut into) = (Input::new(stream), Vec::new());
    loop {
        let before = into.len();
        match more(&mut input, &mut into) {
            Ok(()) if into.len() == before => return (into, None),
            Ok(()) => {}
            Err(e) => return (into, Some(e.to_string())),
        }
    }
}
