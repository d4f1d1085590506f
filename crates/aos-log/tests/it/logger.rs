//! A message to its data, timestamp and contents writers, as the records of the real packers.

use crate::common::{Vector, vectors};
use crate::log::{FakeClock, Memory, records, text, times, writer};
use heapscribe_aos_log::header_fields::HeaderField as H;
use heapscribe_aos_log::layout::{Kind, Layout, NO_TIME};
use heapscribe_aos_log::logger::{
    ContentsRoute, DataRoute, Fetched, LogError, Logger, RemoteMessage, Route, RouteError, TimestampRoute,
};
use heapscribe_aos_log::write::WriteError;
use uuid::Uuid;

const HERE: Uuid = Uuid::from_u128(1);
const THERE: Uuid = Uuid::from_u128(2);

/// What was fetched for the record to become what it is.
fn fetched(vector: &Vector) -> Fetched<'_> {
    // The fields of a delivery record are those of the message as it was received.
    let received = vector.fields();
    Fetched {
        monotonic_event_time: received.monotonic_sent_time,
        realtime_event_time: received.realtime_sent_time,
        monotonic_remote_time: received.monotonic_remote_time,
        realtime_remote_time: received.realtime_remote_time,
        monotonic_remote_transmit_time: received.monotonic_remote_transmit_time,
        queue_index: received.queue_index,
        remote_queue_index: received.remote_queue_index,
        source_boot: THERE,
        data: &vector.data,
    }
}

fn find(layout: Layout, file: &str) -> Vector {
    vectors(layout).into_iter().find(|v| v.name.ends_with(file)).expect("the vector")
}

fn logger(
    layout: Layout,
    route: Route,
    memories: &[Memory],
    clock: &FakeClock,
) -> Result<Logger<FakeClock>, RouteError> {
    let make = |memory: &Memory| {
        writer(memory, clock, |s| {
            s.layout = layout;
            s.channels = 64;
        })
    };
    let writers = memories.iter().map(make).collect();
    Logger::new(layout, vec![route], writers, HERE, clock.clone())
}

#[test]
fn a_message_of_another_node_is_written_to_data_and_timestamps() {
    for (layout, data_kind, data_file) in [
        (Layout::V2022, Kind::RemoteMessage, "kLogRemoteMessage.typical.00013.bin"),
        (Layout::V2024, Kind::RemoteMessage, "kLogRemoteMessage.typical.00013.bin"),
        (Layout::V2024, Kind::Message, "kLogMessage.typical.00013.bin"),
        (Layout::V2022, Kind::MessageAndDeliveryTime, "kLogMessageAndDeliveryTime.typical.00013.bin"),
    ] {
        let delivery = find(layout, "kLogDeliveryTimeOnly.typical.00013.bin");
        let mut message = fetched(&delivery);
        let data = crate::common::data(13);
        message.data = &data;
        let route = Route {
            channel_index: 42,
            data: Some(DataRoute { writer: 0, kind: data_kind }),
            timestamps: Some(TimestampRoute { writer: 1, node: 1, is_reliable: false }),
            contents: None,
        };
        let memories = [Memory::new(1 << 20), Memory::new(1 << 20)];
        let clock = FakeClock::default();
        let mut logger = logger(layout, route, &memories, &clock).expect("routes");
        logger.log(0, &message, None, Some(0)).expect("logged");
        logger.close().expect("closed");
        let [data_parts, time_parts] = [memories[0].parts(), memories[1].parts()];
        assert_eq!(records(&data_parts[0])[1], find(layout, data_file).bytes, "{layout:?} {data_kind:?}");
        assert_eq!(records(&time_parts[0])[1], delivery.bytes, "{layout:?}");
        let source = text(records(&data_parts[0])[0], H::SourceNodeBootUuid);
        let is_remote = data_kind == Kind::RemoteMessage;
        assert_eq!(source, if is_remote { THERE } else { HERE }.to_string());
        assert_eq!(text(records(&time_parts[0])[0], H::SourceNodeBootUuid), HERE.to_string());
        let oldest = times(records(&time_parts[0])[0], H::OldestRemoteUnreliable);
        assert_eq!(oldest[1], message.monotonic_remote_time, "known before the bytes are written");
        assert_eq!(logger.fetch_statistics().count, 1);
    }
}

#[test]
fn reports_of_other_nodes_are_written_to_contents() {
    for layout in Layout::ALL {
        let vector = find(layout, "RemoteMessage.typical.bin");
        let fields = vector.fields();
        let report = RemoteMessage {
            channel_index: fields.channel_index,
            queue_index: fields.queue_index,
            monotonic_sent_time: fields.monotonic_sent_time,
            realtime_sent_time: fields.realtime_sent_time,
            monotonic_remote_time: fields.monotonic_remote_time,
            realtime_remote_time: fields.realtime_remote_time,
            monotonic_remote_transmit_time: fields.monotonic_remote_transmit_time,
            remote_queue_index: fields.remote_queue_index,
            boot: THERE,
        };
        let route = Route {
            channel_index: 3,
            contents: Some(ContentsRoute { writer: 0, node: 1, is_reliable: true }),
            ..Route::default()
        };
        let memory = Memory::new(1 << 20);
        let mut logger =
            logger(layout, route, std::slice::from_ref(&memory), &FakeClock::default()).expect("r");
        let carrier = Fetched::local(fields.monotonic_timestamp_time, 0, 0, HERE, &[]);
        logger.log(0, &carrier, None, None).expect("without contents there is nothing to log");
        assert_eq!(memory.parts().len(), 0);
        logger.log(0, &carrier, Some(&report), None).expect("logged");
        logger.close().expect("closed");
        let parts = memory.parts();
        let header = records(&parts[0])[0];
        assert_eq!(records(&parts[0])[1], vector.bytes, "{layout:?}");
        assert_eq!(text(header, H::SourceNodeBootUuid), THERE.to_string());
        assert_eq!(times(header, H::OldestRemoteReliable)[1], report.monotonic_remote_time);
        assert_eq!(times(header, H::OldestLoggerLocalUnreliable)[1], carrier.monotonic_event_time);
    }
}

#[test]
fn a_full_disk_of_one_writer_does_not_stop_the_other() {
    let route = Route {
        channel_index: 1,
        data: Some(DataRoute { writer: 0, kind: Kind::Message }),
        timestamps: Some(TimestampRoute { writer: 1, node: 1, is_reliable: true }),
        contents: None,
    };
    let memories = [Memory::new(0), Memory::new(1 << 20)];
    let clock = FakeClock::default();
    let mut logger = logger(Layout::V2024, route, &memories, &clock).expect("routes");
    let full = Err(LogError::Write(0, WriteError::OutOfSpace));
    let message = Fetched { source_boot: THERE, ..Fetched::local(5, 5, 1, HERE, &[1; 70_000]) };
    logger.log(0, &message, None, None).expect("it waits in the buffer");
    assert_eq!(logger.log(0, &message, None, None), full);
    assert_eq!(logger.log(0, &message, None, None), full);
    assert_eq!(logger.close(), full);
    assert_eq!(records(&memories[1].parts()[0]).len(), 4);
    assert_eq!(logger.writers()[0].statistics().dropped_messages, 2);
}

#[test]
fn routes_that_cannot_be_are_refused() {
    let clock = FakeClock::default();
    let memories = [Memory::new(0)];
    let data = |writer, kind| Route { data: Some(DataRoute { writer, kind }), ..Route::default() };
    let refused = |route| logger(Layout::V2024, route, &memories, &clock).err();
    assert_eq!(refused(data(1, Kind::Message)), Some(RouteError::NoSuchWriter(0)));
    assert_eq!(refused(data(0, Kind::MessageAndDeliveryTime)), Some(RouteError::NoSuchKind(0)));
    assert_eq!(refused(data(0, Kind::DeliveryTime)), Some(RouteError::NoSuchKind(0)));
    let mut logger = logger(Layout::V2024, data(0, Kind::Message), &memories, &clock).expect("routes");
    let message = Fetched::local(NO_TIME, 0, 0, HERE, &[]);
    assert_eq!(logger.log(7, &message, None, None), Err(LogError::NoSuchRoute(7)));
}
