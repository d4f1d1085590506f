//! The part of a report that correlates messages with the heap.

use std::io;

use super::out::{Out, heading};
use crate::messages::correlation::{
    ChannelActivity, HeapActivity, HeavyMessage, HoldingMessage, MessageCorrelation,
};
use heapscribe_units::{bytes, count, counted, duration, short_bytes};

/// Prints at most `top` entries of each list; `trace` is the path, for commands to type.
pub fn print(out: Out<'_>, correlation: &MessageCorrelation, trace: &str, top: usize) -> io::Result<()> {
    heading(out, "Heap activity by message")?;
    let whose = match correlation.chosen.as_str() {
        "" => "of all processes".to_owned(),
        chosen => format!("of {chosen}"),
    };
    writeln!(
        out,
        "  {} during the recording; allocations {whose}.",
        counted(correlation.messages, "message")
    )?;
    if correlation.messages_outside > 0 {
        writeln!(out, "  {} before or after it.", counted(correlation.messages_outside, "message"))?;
    }
    if correlation.messages_of_other_clocks > 0 {
        let n = counted(correlation.messages_of_other_clocks, "record");
        writeln!(out, "  {n} ignored: their times are of another node's clock.")?;
    }
    writeln!(out, "  Before the first message: {}.", did(&correlation.before))?;
    writeln!(out, "  After the last message: {}.", did(&correlation.after))?;
    let mut channels: Vec<&ChannelActivity> = correlation.channels.iter().collect();
    channels.sort_by_key(|channel| std::cmp::Reverse(channel.alone.allocated_bytes));
    for channel in channels.iter().take(top) {
        print_channel(out, channel)?;
    }
    if channels.len() > top {
        writeln!(out, "  ... {} more", counted((channels.len() - top) as u64, "channel"))?;
    }
    print_heaviest(out, &correlation.heaviest, top)?;
    print_left(out, &correlation.left, trace)
}

/// Memory that is held since one message: whose it is stands in a report of that time.
fn print_left(out: Out<'_>, left: &[HoldingMessage], trace: &str) -> io::Result<()> {
    if left.is_empty() {
        return Ok(());
    }
    heading(out, "Messages that left much of what was never freed")?;
    for HoldingMessage { message, until_ns } in left {
        let HeavyMessage { channel_index, queue_index, time_ns, did } = message;
        let held = format!("{} in {}", bytes(did.left_bytes), counted(did.left, "block"));
        writeln!(out, "  channel {channel_index}, Q{queue_index} at {}: {held}", duration(*time_ns))?;
        let to = until_ns.map_or_else(String::new, |ns| format!(" --to {ns}ns"));
        writeln!(out, "      heapscribe report {trace} --from {time_ns}ns{to}")?;
    }
    Ok(())
}

fn print_channel(out: Out<'_>, channel: &ChannelActivity) -> io::Result<()> {
    writeln!(out, "  channel {}: {}", channel.channel_index, counted(channel.messages, "message"))?;
    writeln!(out, "      until the next message on any channel: {}", did(&channel.alone))?;
    if let Some(most) = &channel.most {
        writeln!(
            out,
            "      until the next message on this channel: {}; {} on average, nothing in {} of {}",
            did(&channel.until_next),
            short_bytes(channel.until_next.allocated_bytes / channel.times.max(1)),
            count(channel.quiet_times),
            count(channel.times),
        )?;
        writeln!(out, "      maximum: {}", heavy(most))?;
    }
    Ok(())
}

fn print_heaviest(out: Out<'_>, heaviest: &[HeavyMessage], top: usize) -> io::Result<()> {
    if heaviest.is_empty() {
        return Ok(());
    }
    heading(out, "Messages with the most bytes allocated until the next message on any channel")?;
    for (place, message) in heaviest.iter().take(top).enumerate() {
        writeln!(out, "  {:>2}. channel {}, {}", place + 1, message.channel_index, heavy(message))?;
    }
    Ok(())
}

fn heavy(message: &HeavyMessage) -> String {
    format!("Q{} at {}: {}", message.queue_index, duration(message.time_ns), did(&message.did))
}

fn did(did: &HeapActivity) -> String {
    let allocated = format!("{} in {}", bytes(did.allocated_bytes), counted(did.allocations, "allocation"));
    let left = Some(did.left_bytes).filter(|bytes| *bytes > 0);
    let left = left.map_or_else(String::new, |bytes| format!(", {} of it never freed", short_bytes(bytes)));
    format!("{allocated}{left}, {} freed", short_bytes(did.freed_bytes))
}
