//! The report of a message log as text.

use std::io;

use heapscribe_aos_log::header_fields::HeaderField;
use heapscribe_aos_log::layout::Kind;
use heapscribe_aos_log::read::channels::{Channels, Row, Span};
use heapscribe_aos_log::read::{PartHeader, PartSummary};

use super::out::{Out, heading};
use crate::messages::lines;
use heapscribe_convert::message_log::Log;
use heapscribe_units::{bytes, count, counted, duration, short_bytes};

/// Prints what is known of a log, at most `top` channels of it.
pub fn report(out: Out<'_>, log: &Log<'_>, channels: &Channels, top: usize) -> io::Result<()> {
    let opened = log.parts().opened();
    let data: i128 = channels.rows().map(|(_, _, row)| row.data_bytes.sum()).sum();
    writeln!(
        out,
        "Message log of {}: {} with {} of data.",
        counted(opened.len() as u64, "part"),
        counted(channels.records(), "record"),
        bytes(u64::try_from(data).unwrap_or(0)),
    )?;
    heading(out, "Parts")?;
    for part in opened {
        print_part(out, log, part)?;
    }
    print_channels(out, channels, top)
}

fn print_part(out: Out<'_>, log: &Log<'_>, part: &PartSummary) -> io::Result<()> {
    write!(out, "  {} ({})", log.path(part.file).display(), part.packing.name())?;
    let Some(header) = &part.header else { return writeln!(out, ": a fragment without a header") };
    write!(out, ": part {}", header.number(HeaderField::PartsIndex))?;
    for (word, field) in
        [(" of", HeaderField::PartsUuid), (", log", HeaderField::Name), (", node", HeaderField::Node)]
    {
        if let Some(text) = header.text(field) {
            write!(out, "{word} {}", text.escape_debug())?;
        }
    }
    if header.is_remote() {
        write!(
            out,
            ", logged on {}",
            header.text(HeaderField::LoggerNode).unwrap_or_default().escape_debug()
        )?;
    }
    writeln!(out)?;
    print_bound(out, header)
}

fn print_bound(out: Out<'_>, header: &PartHeader) -> io::Result<()> {
    let bound = u64::try_from(header.max_out_of_order_ns()).unwrap_or(0);
    writeln!(out, "      messages may be {} out of order", duration(bound))
}

fn print_channels(out: Out<'_>, channels: &Channels, top: usize) -> io::Result<()> {
    let mut rows: Vec<(u32, Kind, &Row)> = channels.rows().collect();
    if rows.len() > top {
        rows.sort_by_key(|(_, _, row)| std::cmp::Reverse(row.data_bytes.sum()));
        heading(out, &format!("Channels with the most data, of {}", count(rows.len() as u64)))?;
    } else {
        heading(out, "Channels")?;
    }
    for (channel, kind, row) in rows.iter().take(top) {
        print_row(out, *channel, *kind, row)?;
    }
    if channels.unlisted > 0 {
        writeln!(out, "  {} of more channels, not listed", counted(channels.unlisted, "record"))?;
    }
    Ok(())
}

fn print_row(out: Out<'_>, channel: u32, kind: Kind, row: &Row) -> io::Result<()> {
    let what = match kind {
        Kind::Message | Kind::RemoteMessage => "message",
        Kind::MessageAndDeliveryTime => "message with delivery time",
        Kind::DeliveryTime => "delivery time",
        Kind::RemoteTimestamp => "remote timestamp",
    };
    write!(out, "  channel {channel}: {}", plural(row.records(), what))?;
    if let Some(rate) = row.rate_hz() {
        write!(out, ", {rate:.1} a second")?;
    }
    writeln!(out)?;
    if lines::has_data(kind) {
        let size = |n: i64| short_bytes(u64::try_from(n).unwrap_or(0));
        span(out, "size", &row.data_bytes, &size, &|mean| short_bytes(mean as u64))?;
    }
    let mean = |ns: f64| signed(ns as i64);
    span(out, "interval", &row.period_ns, &signed, &mean)?;
    span(out, "delivery, by wall clocks", &row.delivery_ns, &signed, &mean)?;
    span(out, "until the timestamp came back", &row.answer_ns, &signed, &mean)?;
    span(out, "until it was forwarded", &row.transmit_ns, &signed, &mean)?;
    gaps(out, row)
}

fn plural(n: u64, what: &str) -> String {
    match what.strip_prefix("message with") {
        Some(rest) => format!("{} with{rest}", counted(n, "message")),
        None => counted(n, what),
    }
}

fn signed(ns: i64) -> String {
    let size = duration(ns.unsigned_abs());
    if ns < 0 { format!("-{size}") } else { size }
}

fn span(
    out: Out<'_>,
    what: &str,
    span: &Span,
    show: &dyn Fn(i64) -> String,
    show_mean: &dyn Fn(f64) -> String,
) -> io::Result<()> {
    let Some(mean) = span.mean() else { return Ok(()) };
    if span.min == span.max {
        return writeln!(out, "      {what}: {}", show(span.min));
    }
    writeln!(
        out,
        "      {what}: {} to {}, {} on average; maximum at Q{}",
        show(span.min),
        show(span.max),
        show_mean(mean),
        span.max_queue_index,
    )
}

fn gaps(out: Out<'_>, row: &Row) -> io::Result<()> {
    if row.missing > 0 {
        let times = counted(row.leaps, "gap");
        writeln!(out, "      missing: {} in {times}", counted(row.missing, "message"))?;
    }
    if row.returns > 0 {
        writeln!(out, "      repeated or decreasing queue indexes: {}", count(row.returns))?;
    }
    Ok(())
}
