//! The logger: writes each fetched message to the writers of its route.

use uuid::Uuid;

use super::error::{LogError, RouteError};
use super::fetched::{Fetched, RemoteMessage};
use super::route::{ContentsRoute, DataRoute, Route, TimestampRoute};
use crate::layout::{Kind, Layout, NO_TIME, shape};
use crate::pack::MessageRecord;
use crate::write::{Clock, Durations, MessageInfo, RemoteUpdate, WriteError, Writer};

/// Writes fetched messages to the writers of their routes.
#[derive(Debug)]
pub struct Logger<C: Clock> {
    layout: Layout,
    routes: Vec<Route>,
    writers: Vec<Writer<C>>,
    boot: Uuid,
    clock: C,
    fetch: Durations,
}

impl<C: Clock> Logger<C> {
    /// A logger on a node that is in this boot. All writers must have the layout.
    pub fn new(
        layout: Layout,
        routes: Vec<Route>,
        writers: Vec<Writer<C>>,
        boot: Uuid,
        clock: C,
    ) -> Result<Self, RouteError> {
        for (i, route) in routes.iter().enumerate() {
            let named = [
                route.data.map(|data| data.writer),
                route.timestamps.map(|timestamps| timestamps.writer),
                route.contents.map(|contents| contents.writer),
            ];
            if named.into_iter().flatten().any(|writer| writer >= writers.len()) {
                return Err(RouteError::NoSuchWriter(i));
            }
            let has_data = |kind| shape(layout, kind).is_some_and(|shape| shape.has_data());
            if route.data.is_some_and(|data| !has_data(data.kind)) {
                return Err(RouteError::NoSuchKind(i));
            }
        }
        Ok(Self { layout, routes, writers, boot, clock, fetch: Durations::default() })
    }

    /// Writes a message to all writers of its route: data, timestamps, contents, in this order.
    ///
    /// `fetch_start_ns` is when the caller began to fetch it, if that is to be counted. When a writer
    /// fails, the others are still written to, and the first error is returned.
    pub fn log(
        &mut self,
        route: usize,
        message: &Fetched<'_>,
        contents: Option<&RemoteMessage>,
        fetch_start_ns: Option<i64>,
    ) -> Result<(), LogError> {
        let to = *self.routes.get(route).ok_or(LogError::NoSuchRoute(route))?;
        if let Some(start) = fetch_start_ns {
            let took = self.clock.monotonic_ns().saturating_sub(start);
            self.fetch.add(took, message.data.len() as u64, to.channel_index);
        }
        let data = to.data.map_or(Ok(()), |data| self.log_data(to.channel_index, data, message));
        let times = to.timestamps.map_or(Ok(()), |times| self.log_times(to.channel_index, times, message));
        let contents = match (to.contents, contents) {
            (Some(to), Some(contents)) => self.log_contents(to, message, contents),
            _ => Ok(()),
        };
        data.and(times).and(contents)
    }

    fn log_data(&mut self, channel: u32, to: DataRoute, message: &Fetched<'_>) -> Result<(), LogError> {
        // A file with messages of another node is about that node, and is in its boot.
        let is_remote = to.kind == Kind::RemoteMessage;
        let source_boot = if is_remote { message.source_boot } else { self.boot };
        let fields = if is_remote { message.as_sent(channel) } else { message.as_received(channel) };
        let monotonic_event_time = fields.monotonic_sent_time;
        let start = self.clock.monotonic_ns();
        let mut record = MessageRecord::new(self.layout, to.kind, &fields).map_err(LogError::Pack)?;
        let info = MessageInfo { channel_index: channel, monotonic_event_time, source_boot };
        self.writers[to.writer].write(&mut record, &info, start).map_err(|e| LogError::Write(to.writer, e))
    }

    fn log_times(&mut self, channel: u32, to: TimestampRoute, message: &Fetched<'_>) -> Result<(), LogError> {
        let writer = &mut self.writers[to.writer];
        writer.update_remote(&RemoteUpdate {
            node: to.node,
            boot: message.source_boot,
            monotonic_remote_time: message.monotonic_remote_time,
            monotonic_remote_transmit_time: message.monotonic_remote_transmit_time,
            monotonic_event_time: message.monotonic_event_time,
            is_reliable: to.is_reliable,
            monotonic_timestamp_time: NO_TIME,
        });
        let start = self.clock.monotonic_ns();
        let fields = message.as_received(channel);
        let mut record =
            MessageRecord::new(self.layout, Kind::DeliveryTime, &fields).map_err(LogError::Pack)?;
        let monotonic_event_time = message.monotonic_event_time;
        let info = MessageInfo { channel_index: channel, monotonic_event_time, source_boot: self.boot };
        writer.write(&mut record, &info, start).map_err(|e| LogError::Write(to.writer, e))
    }

    fn log_contents(
        &mut self,
        to: ContentsRoute,
        message: &Fetched<'_>,
        contents: &RemoteMessage,
    ) -> Result<(), LogError> {
        let start = self.clock.monotonic_ns();
        let writer = &mut self.writers[to.writer];
        writer.enter_boot(contents.boot);
        writer.update_remote(&RemoteUpdate {
            node: to.node,
            boot: self.boot,
            monotonic_remote_time: contents.monotonic_remote_time,
            monotonic_remote_transmit_time: contents.monotonic_remote_transmit_time,
            monotonic_event_time: contents.monotonic_sent_time,
            is_reliable: to.is_reliable,
            monotonic_timestamp_time: message.monotonic_event_time,
        });
        let fields = contents.fields(message.monotonic_event_time);
        let mut record =
            MessageRecord::new(self.layout, Kind::RemoteTimestamp, &fields).map_err(LogError::Pack)?;
        let info = MessageInfo {
            channel_index: contents.channel_index,
            monotonic_event_time: contents.monotonic_sent_time,
            source_boot: contents.boot,
        };
        writer.write(&mut record, &info, start).map_err(|e| LogError::Write(to.writer, e))
    }

    /// Lets each writer write out what waits, if it is due: to be called when there is no message for a while.
    pub fn flush_if_due(&mut self) -> Result<(), LogError> {
        let now = self.clock.monotonic_ns();
        self.each(|writer| writer.flush_if_due(now))
    }

    /// Lets the next message of each writer begin a part.
    pub fn rotate(&mut self) {
        self.writers.iter_mut().for_each(Writer::rotate);
    }

    /// Ends the parts that are open.
    pub fn close(&mut self) -> Result<(), LogError> {
        self.each(Writer::close)
    }

    /// Calls all writers, and returns the first error.
    fn each(
        &mut self,
        mut call: impl FnMut(&mut Writer<C>) -> Result<(), WriteError>,
    ) -> Result<(), LogError> {
        let mut first = Ok(());
        for (i, writer) in self.writers.iter_mut().enumerate() {
            let result = call(writer).map_err(|e| LogError::Write(i, e));
            first = first.and(result);
        }
        first
    }

    /// The writers, in the order of [`Logger::new`].
    pub fn writers(&self) -> &[Writer<C>] {
        &self.writers
    }

    /// The writers, to set start times and boots of other nodes.
    pub fn writers_mut(&mut self) -> &mut [Writer<C>] {
        &mut self.writers
    }

    /// How long fetching took, of the calls of [`log`](Self::log) with a start time.
    pub fn fetch_statistics(&self) -> &Durations {
        &self.fetch
    }
}
