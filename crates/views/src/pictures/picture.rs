//! What is drawn: panels of series over one axis of time.

/// What is drawn.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// What was recorded.
    pub title: String,
    /// When, and how well.
    pub subtitle: String,
    /// What the axis of time counts.
    pub clock: Clock,
    /// The end of the axis of time, which begins at 0, seconds.
    pub seconds: f64,
    /// From top to bottom.
    pub panels: Vec<Panel>,
    /// Moments with names: seconds, name.
    pub marks: Vec<(f64, String)>,
}

/// What an axis of time counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Clock {
    /// Seconds.
    #[default]
    Seconds,
    /// Calls of the heap, as nothing is known of times: each is a billionth on the axis.
    Calls,
}

/// Series of one unit.
#[derive(Clone, Debug)]
pub struct Panel {
    /// What is shown.
    pub title: String,
    /// How numbers are written.
    pub unit: Unit,
    /// At most as many as there are [`Style`]s.
    pub series: Vec<Series>,
}

/// What numbers count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Calls, blocks.
    Count,
    /// Nanoseconds, drawn by their magnitude.
    Time,
}

/// Numbers over time.
#[derive(Clone, Debug)]
pub struct Series {
    /// What they are.
    pub name: String,
    /// How they are drawn.
    pub style: Style,
    /// Seconds and numbers; a number that is not there ends a line.
    pub points: Vec<(f64, Option<f64>)>,
}

/// How a series is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// A filled area with its edge.
    Area,
    /// A thick line.
    Line,
    /// A line of dashes.
    Dashed,
}
