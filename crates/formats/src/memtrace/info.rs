//! The trace info, both ways: the one event of the first packet.

use super::error::Fault;
use super::event::Info;
use super::fields::Cursor;
use super::header::{self, Header, Packet};
use super::layout::{EVENT_INFO, PACKET_BYTES_MAX, TIME_BITS, TIME_MASK};
use super::time;

/// Reads the content of the first packet.
pub(crate) fn decode(header: &Header, content: &[u8]) -> Result<Info, (usize, Fault)> {
    let mut at = Cursor::new(content);
    let info = fields(header, &mut at).map_err(|fault| {
        let fault = if fault == Fault::CutEvent { Fault::CutInfo } else { fault };
        (at.pos(), fault)
    })?;
    if at.is_empty() { Ok(info) } else { Err((at.pos(), Fault::InfoRest)) }
}

fn fields(header: &Header, at: &mut Cursor<'_>) -> Result<Info, Fault> {
    let word = at.u32()?;
    let time_us = time::of_event(header, word)?;
    if word >> TIME_BITS != EVENT_INFO {
        return Err(Fault::NoInfo);
    }
    if time_us != header.time_begin_us {
        return Err(Fault::InfoTime);
    }
    Ok(Info {
        sample_rate: f64::from_bits(at.i64()? as u64),
        word_bits: at.u8()?,
        executable: at.text()?.to_vec(),
        host: at.text()?.to_vec(),
        runtime_params: at.text()?.to_vec(),
        pid: at.i64()?,
        context: if header.version >= 2 { at.text()?.to_vec() } else { Vec::new() },
        start_us: header.time_begin_us,
        domain: header.domain,
    })
}

/// Writes the whole first packet. Its texts share the space.
pub(crate) fn encode(info: &Info, packet: &mut Packet) {
    header::begin(packet, info.pid, info.domain, None);
    packet.put_u32(EVENT_INFO << TIME_BITS | (info.start_us as u32 & TIME_MASK));
    packet.put(info.sample_rate.to_bits().to_le_bytes());
    packet.put([info.word_bits]);
    let text_bytes_max = PACKET_BYTES_MAX / 5;
    let cut = |text: &[u8]| text.get(..text_bytes_max).unwrap_or(text).to_vec();
    packet.put_text(&cut(&info.executable));
    packet.put_text(&cut(&info.host));
    packet.put_text(&cut(&info.runtime_params));
    packet.put_i64(info.pid);
    packet.put_text(&cut(&info.context));
    header::finish(packet, info.start_us..info.start_us, 0..0);
}
