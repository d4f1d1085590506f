//! The server from outside: who is answered, and with which figures.

mod answers;
mod browser;
mod client;
mod compared;
mod recording;
mod security;
mod single_file;
mod source;
