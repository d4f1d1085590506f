//! The configuration in a header, as far as messages need it: what their channels are called. It comes from a stranger like
//! everything else: its channels are counted against [`CHANNELS_MAX`], and their names together are not longer than the
//! record, however often they share their bytes.

use super::flatbuffer::{Flaw, Table};
use super::limits::CHANNELS_MAX;
use crate::pack::{CHANNELS, NAME, TYPE_OF_CHANNEL};

/// A channel of a configuration.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Channel {
    /// Its name, as `/camera`.
    pub name: String,
    /// The type of its messages, as `frc971.CameraImage`.
    pub type_name: String,
}

/// The channels of a configuration, by index.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Configuration {
    /// None when there is no configuration in the part, or one that is damaged.
    pub channels: Vec<Channel>,
    /// What is wrong with it.
    pub damage: Option<&'static str>,
}

impl Configuration {
    /// Reads the channels. A damaged configuration has none: with some of them missing, names would be those of others.
    pub(super) fn parse(table: &Table<'_>) -> Configuration {
        match channels(table) {
            Ok(channels) => Configuration { channels, damage: None },
            Err(flaw) => Configuration { channels: Vec::new(), damage: Some(flaw.what) },
        }
    }

    /// The channel of an index.
    pub fn channel(&self, index: u32) -> Option<&Channel> {
        self.channels.get(usize::try_from(index).ok()?)
    }
}

fn channels(table: &Table<'_>) -> Result<Vec<Channel>, Flaw> {
    let (mut channels, mut left) = (Vec::new(), table.record_bytes());
    for (index, table) in table.tables(CHANNELS)?.enumerate() {
        let table = table?;
        let text = |field| table.string(field).map(Option::unwrap_or_default);
        let channel = Channel { name: text(NAME)?, type_name: text(TYPE_OF_CHANNEL)? };
        let what = match left.checked_sub(channel.name.len() + channel.type_name.len()) {
            Some(rest) if index < CHANNELS_MAX => {
                left = rest;
                channels.push(channel);
                continue;
            }
            Some(_) => "more channels than are read",
            None => "names of channels that are longer than their record",
        };
        return Err(Flaw { what, at: 0 });
    }
    Ok(channels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::configuration;

    /// As a record: behind a length.
    fn parse(flatbuffer: &[u8]) -> Result<Configuration, Flaw> {
        let record = [&(flatbuffer.len() as u32).to_le_bytes(), flatbuffer].concat();
        Table::root(&record).map(|table| Configuration::parse(&table))
    }

    #[test]
    fn channels_have_names_and_types() {
        let read = parse(&configuration(3, 100, Some("pi1"))).unwrap();
        let names: Vec<&str> = read.channels.iter().map(|channel| &*channel.name).collect();
        assert_eq!((names, read.damage), (vec!["/channel0", "/channel1", "/channel2"], None));
        assert_eq!(read.channel(2).unwrap().type_name, "heapscribe.Unknown");
        assert_eq!(read.channel(3), None);
    }

    #[test]
    fn too_many_channels_are_none() {
        let read = parse(&configuration(CHANNELS_MAX, 1, None)).unwrap();
        assert_eq!((read.channels.len(), read.damage), (CHANNELS_MAX, None));
        let read = parse(&configuration(CHANNELS_MAX + 1, 1, None)).unwrap();
        assert_eq!((read.channels.len(), read.damage), (0, Some("more channels than are read")));
    }

    #[test]
    fn no_byte_makes_names_longer_than_the_record() {
        let whole = configuration(4, 100, Some("pi1"));
        let mut damaged = 0;
        for at in 0..whole.len() {
            for value in [0, 1, 4, 7, 0x7f, 0x80, 0xff, whole[at] ^ 4, whole[at] ^ 0x20] {
                let mut bytes = whole.clone();
                bytes[at] = value;
                let Ok(read) = parse(&bytes) else { continue };
                let named: usize = read.channels.iter().map(|c| c.name.len() + c.type_name.len()).sum();
                assert!(
                    named <= whole.len() + 4 && (read.damage.is_none() || read.channels.is_empty()),
                    "byte {at}"
                );
                damaged += usize::from(read.damage.is_some());
            }
        }
        assert!(damaged > 100, "only {damaged} were found");
    }
}
