//! Annotations: marks that a program sets, sections that its threads go through, and blocks of the pools that
//! it manages itself. Summed like all else, each chunk alone.

pub mod moments;
mod pass;
mod sums;

pub(crate) use self::pass::AnnotationPass;
pub(crate) use self::sums::{Annotations, PoolSums, SectionSums};
