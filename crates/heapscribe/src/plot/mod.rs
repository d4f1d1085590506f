//! Pictures of what changes with time, for print and for the screen: panels below each other over one
//! axis, drawn as SVG, and from that made into PDF or PNG.
//!
//! *You bring* series of numbers with their units. *It guarantees* that they can be told apart in print
//! without colours too: by dashes, by areas and by what stands at them. *It refuses* to say more than the
//! data does: a series without a number at some time has a gap there.

mod draw;
mod form;
mod from_go;
mod from_trace;

pub(crate) use draw::svg;
pub(crate) use form::Form;
pub(crate) use from_go::picture_of_go;
pub(crate) use from_trace::picture;

/// What is drawn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Picture {
    /// What was recorded.
    pub(crate) title: String,
    /// When, and how well.
    pub(crate) subtitle: String,
    /// What the axis of time counts.
    pub(crate) clock: Clock,
    /// The end of the axis of time, which begins at 0, seconds.
    pub(crate) seconds: f64,
    /// From top to bottom.
    pub(crate) panels: Vec<Panel>,
    /// Moments with names: seconds, name.
    pub(crate) marks: Vec<(f64, String)>,
}

/// What an axis of time counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Clock {
    /// Seconds.
    #[default]
    Seconds,
    /// Calls of the heap, as nothing is known of times: each is a billionth on the axis.
    Calls,
}

/// Series of one unit.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    /// What is shown.
    pub(crate) title: String,
    /// How numbers are written.
    pub(crate) unit: Unit,
    /// At most as many as there are [`Style`]s.
    pub(crate) series: Vec<Series>,
}

/// What numbers count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unit {
    /// Bytes.
    Bytes,
    /// Calls, blocks.
    Count,
    /// Nanoseconds, drawn by their magnitude.
    Time,
}

/// Numbers over time.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// What they are.
    pub(crate) name: String,
    /// How they are drawn.
    pub(crate) style: Style,
    /// Seconds and numbers; a number that is not there ends a line.
    pub(crate) points: Vec<(f64, Option<f64>)>,
}

/// How a series is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Style {
    /// A filled area with its edge.
    Area,
    /// A thick line.
    Line,
    /// A line of dashes.
    Dashed,
}
