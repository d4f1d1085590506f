//! Answers of the index: the same as those of a slow twin, and none that damage makes panic.

mod ages;
mod damage;
mod histories;
mod resealed;
mod twin;
