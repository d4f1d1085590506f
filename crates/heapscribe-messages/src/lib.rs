//! A message log that its writer never waits for and never allocates for: the parts that AOS, the robot
//! operating system of FRC team 971, writes and reads.
//!
//! [`layout`] and [`header_fields`] say what a part looks like; all else goes by them. [`pack`] has the
//! records that write themselves.

mod c_api;
pub mod checksum;
pub mod encode;
pub mod header_fields;
pub mod layout;
pub mod logger;
pub mod pack;
pub mod write;
