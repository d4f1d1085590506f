#!/usr/bin/env python3
"""Reads a heapscribe trace by docs/format.md alone and prints what its events add up to.

    read_trace.py TRACE                      totals, a line each
    read_trace.py TRACE --compare REPORT     compares them with `heapscribe report --json`

Every length and checksum is checked. The blocks are found twice, by scanning the file and by its index,
and both must say the same. zstd frames need the package `zstandard`.
"""

import json
import signal
import sys
from collections import Counter

SESSION, PROCESS, DEFINITIONS, EVENTS, MEMORY, PROCESS_END, SESSION_END, INDEX, LIVE, BLOCKS = range(1, 11)
EVICTED, HEAP, MEMORY_MAP, PAGES, SYMBOLS, RESIDENT = 11, 12, 13, 14, 15, 16
NONE = 0xFFFFFFFF
AFTER = 2
CALLS = ("malloc calloc realloc reallocarray posix_memalign aligned_alloc memalign valloc pvalloc "
         "free cfree free_sized free_aligned_sized pool_alloc pool_free").split()
ALIGNED = range(4, 9)
KIND_OF_CALL = ["malloc", "calloc", "realloc", "realloc"] + ["aligned"] * 5 + ["free"] * 4 + ["pool_alloc", "pool_free"]
POOLS = range(13, 15)
DROPS = ("log_full log_memory reentered stack_table live_table stack_depth stack_rule stack_no_info "
         "stack_bounds module_table no_session unknown_block thread_table replaced_block "
         "rate_table registered_frames held name_table section_depth snapshot untimed forbidden not_written damaged interpreted_frames").split()


class Bad(Exception):
    """The file is not as the page says."""


def need(condition, offset, what):
    if not condition:
        raise Bad(f"{what} at byte {offset}")


def crc_table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


TABLE = crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


class Fields:
    """Fields, read one after the other."""

    def __init__(self, data, offset=0):
        self.data, self.at, self.offset = data, 0, offset

    def ended(self):
        return self.at >= len(self.data)

    def bytes(self, n):
        need(self.at + n <= len(self.data), self.offset + self.at, "fields that go over their end")
        self.at += n
        return self.data[self.at - n:self.at]

    def fixed(self, n):
        return int.from_bytes(self.bytes(n), "little")

    def varint(self):
        value = shift = 0
        for i in range(10):
            byte = self.fixed(1)
            need(i < 9 or byte <= 1, self.offset + self.at, "overlong number")
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
        raise Bad("overlong number")

    def signed(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def from_(self, base):
        return base + self.signed() & 0xFFFFFFFFFFFFFFFF

    def text(self, most=64 << 10):
        n = self.varint()
        need(n <= most, self.offset + self.at, "text that is too long")
        return self.bytes(n)

    def list(self):
        n = self.varint()
        need(n <= 4096, self.offset + self.at, "list that is too long")
        return [self.text() for _ in range(n)]


class Block:
    """One block of the file at `at`, checked and unpacked."""

    def __init__(self, data, at):
        head = data[at:at + 32]
        need(len(head) == 32 and head[:4] == b"\xf1hsB", at, "no block")
        f = Fields(head[4:])
        self.kind, self.codec, zero = f.fixed(1), f.fixed(1), f.fixed(2)
        self.process, self.number, self.raw_len, stored_len, crc, own = (f.fixed(4) for _ in range(6))
        need(own == crc32c(head[:28]), at, "wrong crc of a block header")
        need(zero == 0 and stored_len <= self.raw_len, at, "block header that cannot be")
        need(self.raw_len <= (256 << 10 if self.kind == EVENTS else 1 << 20), at, "block that is too long")
        of_none = self.kind in (SESSION, SESSION_END, INDEX, SYMBOLS)
        need(self.kind == EVICTED or (self.process == NONE) == of_none, at, "block of no process")
        stored = data[at + 32:at + 32 + stored_len]
        need(len(stored) == stored_len and crc == crc32c(stored), at, "wrong crc of a block")
        padding = -stored_len % 8
        need(data[at + 32 + stored_len:at + 32 + stored_len + padding] == bytes(padding), at, "padding that is not 0")
        self.at, self.end = at, at + 32 + stored_len + padding
        self.payload = self.unpack(stored)
        need(len(self.payload) == self.raw_len, at, "wrong length of a block")

    def unpack(self, stored):
        if self.codec == 0:
            return stored
        need(self.codec == 1 and self.kind in (DEFINITIONS, EVENTS, MEMORY, INDEX, BLOCKS, HEAP, PAGES, SYMBOLS, RESIDENT), self.at, "unknown codec")
        try:
            import zstandard
        except ImportError:
            sys.exit("the package `zstandard` is missing: pip install zstandard")
        return zstandard.ZstdDecompressor().decompress(stored, max_output_size=self.raw_len)


class Events:
    """The events of a block: columns, and the stacks and blocks of the events so far."""

    COLUMNS = "tags alloc_dt other_dt stacks foreign_stacks new sizes old_sizes freed foreign_births threads rest".split()

    def __init__(self, f, begin_ticks):
        lengths = [f.varint() for _ in self.COLUMNS]
        for name, length in zip(self.COLUMNS, lengths):
            setattr(self, name, Fields(f.bytes(length), f.offset + f.at - length))
        need(f.ended(), f.offset + f.at, "bytes that are of no column")
        self.ticks = self.last_birth = begin_ticks
        self.last_new = 0
        self.known = [None]  # from a stack's number in this block to the stack and its last size
        self.born = []       # [ticks, size, stack], in the order of their allocation
        self.alive = []      # those that are not freed, the youngest last

    def sized_stack(self, stacks, sizes):
        """A stack and a size."""
        number = stacks.varint()
        if number == 0:
            self.last_new += self.new.signed()
            need(0 <= self.last_new < 1 << 32, self.new.offset, "stack that cannot be")
            self.known.append([self.last_new, 0])
            number = len(self.known) - 1
        need(number < len(self.known), stacks.offset + stacks.at, "stack that was not named")
        known, code = self.known[number], sizes.varint()
        known[1] = known[1] if code == 0 else sizes.varint() if code == 1 else code - 2
        return tuple(known)

    def allocated_block(self):
        stack, size = self.sized_stack(self.stacks, self.sizes)
        self.born.append([self.ticks, size, stack])
        self.alive.append(self.born[-1])
        return stack, size

    def freed_block(self, flag):
        """Stack, size, age and, when that is another one, thread of birth."""
        number = self.freed.varint()
        if number == 0:
            self.last_birth = self.foreign_births.from_(self.last_birth)
            stack, size = self.sized_stack(self.foreign_stacks, self.old_sizes)
            age = self.ticks - self.last_birth & 0xFFFFFFFFFFFFFFFF
            return stack, size, age, self.threads.varint() if flag else None
        need(not flag, self.freed.offset + self.freed.at, "another thread's block that was allocated here")
        row, back = (self.alive, number) if number <= 4 else (self.born, number - 4)
        need(back <= len(row), self.freed.offset + self.freed.at, "block that was not allocated here")
        block = row[-back]
        at = next((i for i in range(len(self.alive) - 1, -1, -1) if self.alive[i] is block), None)
        need(at is not None, self.freed.offset + self.freed.at, "block that was freed before")
        del self.alive[at]
        return block[2], block[1], self.ticks - block[0], None

    def ended(self):
        """Whether no column has anything left."""
        return all(getattr(self, name).ended() for name in self.COLUMNS)


def mapping(fields, at):
    """The stack of a mapping of the program's own."""
    what, _took, stack, first, size = (fields.varint() for _ in range(5))
    need(what & 15 <= 3 and what < 256, at, "mapping that cannot be")
    need(first + size < 1 << 64, at, "mapping beyond the last address")
    if what & 15 == 2:
        need(fields.varint() + fields.varint() < 1 << 64, at, "mapping beyond the last address")
    return stack


def sums_of_events(block):
    """What the events of a block add up to, in the words of the index; its stacks; ticks and bytes of each change."""
    f = Fields(block.payload, block.at)
    s = {"thread": f.fixed(4), "cut": f.fixed(4), "sequence": f.fixed(8), "begin_ticks": f.fixed(8),
         "begin_mono": f.fixed(8), "end_ticks": f.fixed(8), "end_mono": f.fixed(8), "last_alloc": f.fixed(8)}
    n, calls = Counter(), Counter()
    e = Events(f, s["begin_ticks"])
    first = s["begin_ticks"]
    net = highest = 0
    highest_ticks = first
    stacks, changes = [], []
    while not e.tags.ended():
        tag = e.tags.fixed(1)
        kind, call, flag = tag & 7, tag >> 3 & 15, tag >> 7
        if tag == 0x80:
            e.rest.varint()  # the duration of the call before
            continue
        if kind == 7:
            need(tag >> 3 <= 3, block.at, "rate that cannot be")
            continue
        dt = (e.alloc_dt if kind == 1 else e.other_dt).varint()
        need(dt >= 1 or n["events"] == 0, block.at, "event that is not later than the one before it")
        e.ticks += dt
        first = e.ticks if n["events"] == 0 else first
        n["events"] += 1
        allocated = freed = 0
        of_pool = kind != 5 and call in POOLS
        before = Counter(n)
        if kind == 1:
            need(not flag, block.at, "flag where there is none")
            stack, allocated = e.allocated_block()
            stacks.append(stack)
            align = e.rest.varint() if call in ALIGNED else 0
            need(align < 64, block.at, "alignment that cannot be")
            n["allocs"] += 1
        elif kind in (2, 3):
            stack, freed, _, thread = e.freed_block(flag)
            stacks.append(stack)
            need(thread != s["thread"], block.at, "a flag for the thread itself")
            if kind == 3:
                stack, allocated = e.allocated_block()
                stacks.append(stack)
            n["frees" if kind == 2 else "reallocs"] += 1
        elif kind == 4:
            need(not flag, block.at, "flag where there is none")
            stacks.append(e.sized_stack(e.stacks, e.sizes)[0])
            n["failed"] += 1
        elif kind == 5:
            need(call <= 5 and not flag, block.at, "unknown note")
            if call == 0:
                n["lost"] += e.rest.varint()
                need(e.rest.varint() < 32, block.at, "reason that cannot be")
            elif call == 5:
                stacks.append(mapping(e.rest, block.at))
            else:
                e.rest.varint()
                if call == 4:
                    e.rest.varint()
        elif kind == 6:
            if flag:
                stack, allocated = e.allocated_block()
                stacks.append(stack)
            n["unknown_reallocs" if flag else "unknown_frees"] += 1
        else:
            raise Bad(f"unknown event {tag:#x} in the block at byte {block.at}")
        if kind != 5:
            need(call < len(CALLS), block.at, "unknown call")
            calls[call] += 1
        if of_pool:
            n = before
            continue
        n["allocated"], n["freed"] = n["allocated"] + allocated, n["freed"] + freed
        net -= freed
        net += allocated
        if allocated or freed:
            changes.append((e.ticks, allocated - freed))
        if allocated and net > highest:
            highest, highest_ticks = net, e.ticks
    need(e.ended(), block.at, "fields of no event")
    s.update({key: n[key] for key in ("events", "allocs", "frees", "reallocs", "failed", "unknown_frees",
                                      "unknown_reallocs", "lost", "allocated", "freed")})
    s.update(net=net, highest=highest, highest_ticks=highest_ticks, first=first, last=e.ticks, calls=dict(calls))
    return s, stacks, changes


class Levels:
    """What is live in all processes together, and the most of it at one time."""

    def __init__(self):
        self.processes, self.changes, self.ends, self.pairs = {}, [], {}, []
        self.started = 0  # when the program was; 0 when that is not known
        self.is_exact = True  # no samples, and no blocks of events that a ring evicted

    def pair(self, process, ticks, mono):
        _, _, kind, shift = self.processes[process]
        raw = ticks << shift
        if kind == 1 and raw and mono:
            self.pairs.append((raw, mono))

    def ns(self, process, ticks):
        """A moment on the straight line through the first pair of the counter, or the creation of the process."""
        origin_ticks, origin_mono, kind, shift = self.processes[process]
        rate = 1.0
        if kind == 1:
            first, last = min(self.pairs), max(self.pairs)
            origin_ticks, origin_mono = first[0] >> shift, first[1]
            rate = (last[1] - first[1]) / (last[0] - first[0]) if last[0] > first[0] else 0
            rate = rate if 0.05 <= rate <= 10 else 0.4
        line = int(rate * (1 << shift) * (1 << 32))
        return origin_mono + ((ticks - origin_ticks) * line >> 32)

    def peak(self):
        """Bytes, and when, ns after the program was started, or else the first process created."""
        live, moments = Counter(), Counter()
        for process, ticks, bytes in self.changes:
            ns = self.ns(process, ticks)
            moments[ns] += bytes
            live[process] += bytes
        for process, (ended, how, last_ticks) in self.ends.items():
            if how == 2:  # what it became begins where its events do
                begins = [self.ns(of, ticks) for of, (ticks, mono, _, _) in self.processes.items() if mono == ended]
                ended = min(begins, default=ended)
            if (how in (1, 2, 4) or how > 128) and ended:
                moments[max(ended, self.ns(process, last_ticks) + 1)] -= live[process]
        level = highest = at = 0
        for ns in sorted(moments):
            level += moments[ns]
            if level > highest:
                highest, at = level, ns
        begins = [created for _, created, _, _ in self.processes.values()] + [self.started] * (self.started > 0)
        return highest, at - min(begins) if highest else 0


def sums_of_index(f, last):
    """The same as the index tells it."""
    s = {"thread": f.varint(), "sequence": f.varint()}
    s["begin_ticks"], s["begin_mono"] = f.from_(last[0]), f.from_(last[1])
    last[:] = [s["begin_ticks"], s["begin_mono"]]
    s["end_ticks"], s["end_mono"] = f.from_(s["begin_ticks"]), f.from_(s["begin_mono"])
    s["last_alloc"] = f.from_(s["begin_ticks"])
    for key in ("events", "allocs", "frees", "reallocs", "failed", "unknown_frees", "unknown_reallocs",
                "lost", "allocated", "freed"):
        s[key] = f.varint()
    s["net"] = s["allocated"] - s["freed"] + f.signed()
    s["highest"] = f.varint()
    s["highest_ticks"], s["first"], s["last"] = (f.from_(s["begin_ticks"]) for _ in range(3))
    s["cut"] = f.varint()
    mask = f.varint()
    s["calls"] = {call: f.varint() for call in range(64) if mask >> call & 1}
    return s


def scan(data):
    blocks, at = [], 32
    while at < len(data) and data[at:at + 8] != b"HSCREND\n":
        blocks.append(Block(data, at))
        need(blocks[-1].number == len(blocks) - 1, at, "wrong block number")
        at = blocks[-1].end
    return blocks


def check_footer(data, blocks):
    foot = data[-32:]
    need(foot[:8] == b"HSCREND\n", len(data) - 32, "no footer")
    need(int.from_bytes(foot[28:], "little") == crc32c(foot[:28]), len(data) - 32, "wrong crc of the footer")
    f = Fields(foot[8:])
    index, length, count = f.fixed(8), f.fixed(8), f.fixed(4)
    need(length == len(data) and count == len(blocks), len(data) - 32, "wrong footer")
    return index


def check_index(data, blocks, sums):
    """Follows the index backwards and compares each entry with the block itself."""
    by_offset = {block.at: block for block in blocks}
    at, seen, end = check_footer(data, blocks), 0, len(data) - 32
    while True:
        own = by_offset.get(at)
        need(own is not None and own.kind == INDEX and own.end == end, at, "no index block")
        f = Fields(own.payload, at)
        previous, offset, number, count = f.fixed(8), f.fixed(8), f.fixed(4), f.fixed(4)
        first, last = offset, [0, 0]
        for i in range(count):
            kind, process, length = f.fixed(1), f.varint() - 1 & NONE, f.varint() * 8
            block = by_offset[offset]
            need((kind, process, length, number + i) == (block.kind, block.process, block.end - offset, block.number),
                 offset, "index that tells otherwise")
            if kind == EVENTS:
                listed = sums_of_index(f, last)
                need(listed == sums[offset], offset, f"sums that differ: {listed} {sums[offset]}")
            offset += length
        need(f.ended() and offset == at, at, "index that is not whole")
        seen += count + 1
        if previous == 0:
            need(first == 32 and seen == len(blocks), at, "index that does not list all")
            return seen
        at, end = previous, first


def read_live(block, tables):
    """A table of live blocks, without them yet."""
    f = Fields(block.payload, block.at)
    number, role = f.varint(), f.varint()
    need(role <= 2 and (block.process, number) not in tables, block.at, "table that cannot be")
    _mono, _real, ticks = f.varint(), f.varint(), f.varint()
    f.text(), f.text()
    blocks, counters = f.varint(), [f.varint() for _ in range(4)]
    need(f.ended(), block.at, "table with fields left")
    tables[block.process, number] = {"blocks": blocks, "ticks": ticks, "counters": counters, "found": 0,
                                     "bytes": 0, "last": None, "role": role, "heap": [0, 0], "sampled": False}


def read_blocks(block, tables):
    """Some blocks of a table."""
    f = Fields(block.payload, block.at)
    table = tables.get((block.process, f.fixed(4)))
    need(table is not None, block.at, "blocks of no table")
    count = f.fixed(4)
    lengths = [f.varint() for _ in range(6)]
    columns = [Fields(f.bytes(length), block.at) for length in lengths]
    need(f.ended() and lengths[5] == count <= 16384, block.at, "columns that cannot be")
    address = stack = thread = birth = 0
    for _ in range(count):
        address, stack = columns[0].from_(address), columns[2].from_(stack)
        thread, birth = columns[3].from_(thread), columns[4].from_(birth)
        flags = columns[5].fixed(1)
        need(flags < 8 and stack < 1 << 26 and thread < 1 << 24 and birth <= table["ticks"], block.at,
             "block that cannot be")
        place = (flags >> 2, address)
        need(address == 0 or table["last"] is None or table["last"] < place, block.at, "blocks out of order")
        table["last"] = place
        size = columns[1].varint()
        table["bytes"] += size
        table["sampled"] |= flags & 3 != 0
        if flags >> 2 == 0:
            table["heap"] = [table["heap"][0] + 1, table["heap"][1] + size]
    need(all(column.ended() for column in columns), block.at, "columns with fields left")
    table["found"] += count


def read_memory_map(block, maps):
    """What was mapped beside a table, without its mappings and pages yet."""
    f = Fields(block.payload, block.at)
    number = f.varint()
    need((block.process, number) not in maps, block.at, "memory map that is there twice")
    _begin, _end, page, _allocated, _freed, heap = (f.varint() for _ in range(6))
    need(page & page - 1 == 0 and 512 <= page <= 1 << 30 and heap <= 5, block.at, "memory map that cannot be")
    maps[block.process, number] = {"counts": [f.varint(), f.varint()], "found": [0, 0, 0], "last": [0, 0, 0]}
    need(f.varint() <= 2, block.at, "lists that were read in no known way")
    maps[block.process, number]["counts"].append(f.varint())
    need(f.ended(), block.at, "memory map with fields left")


def read_pages(block, maps):
    """Some mappings and pages of a memory map."""
    f = Fields(block.payload, block.at)
    map_ = maps.get((block.process, f.fixed(4)))
    need(map_ is not None, block.at, "pages of no memory map")
    end = 0
    mappings = f.varint()
    for _ in range(mappings):
        start = f.from_(end)
        end = start + f.varint()
        flags = f.varint()
        need(map_["last"][0] <= start < end and flags < 128, block.at, "mapping that cannot be")
        if not flags & 32:
            f.text(512)
        resident, anonymous, _swapped, _huge = (f.varint() for _ in range(4))
        need(anonymous <= resident, block.at, "mapping with more than all of it")
        map_["last"][0] = end
    runs, page = f.varint(), 0
    for _ in range(runs):
        start = f.from_(page)
        page = start + (f.varint() >> 1)
        need(map_["last"][1] <= start < page, block.at, "pages that cannot be")
        map_["last"][1] = page
    ranges, end = f.varint(), 0
    for _ in range(ranges):
        start, word = f.from_(end), f.varint()
        end = start + (word >> 3)
        need(map_["last"][2] <= start < end and word & 7 < 6, block.at, "free memory that cannot be")
        map_["last"][2] = end
    need(f.ended() and mappings <= 512 and runs <= 32768 and ranges <= 4096, block.at, "pages with fields left")
    map_["found"] = [sum(both) for both in zip(map_["found"], (mappings, runs, ranges))]


def read_symbols(block, total):
    f = Fields(block.payload, block.at)
    texts = f.varint()
    for _ in range(texts):
        f.text()
    for _ in range(f.varint()):
        f.text(), f.text(32)
        source, reason = f.varint(), f.varint()
        need(source <= 5 and reason <= texts, block.at, "source of names that cannot be")
        address = 0
        for _ in range(f.varint()):
            address = f.from_(address)
            total["named addresses"] += 1
            for _ in range(f.varint()):
                function, file, _line = f.varint(), f.varint(), f.varint()
                need(max(function, file) <= texts, block.at, "text that is not there")
    need(f.ended(), block.at, "symbols with fields left")


def read_definitions(block, state, names):
    f = Fields(block.payload, block.at)
    next_node, zero, last_pc = f.fixed(4), f.fixed(4), f.fixed(8)
    need((next_node, last_pc) == tuple(state) and zero == 0, block.at, "numbering that does not go on")
    while not f.ended():
        tag = f.fixed(1)
        if tag & ~0x30 == 1:
            back = f.varint()
            need(1 <= back <= state[0], block.at, "caller that is not there")
            state[1] = f.from_(state[1])
            state[0] += 1
            names["nodes"] += 1
        elif tag & ~0x10 == 2:
            need(f.varint() < 32, block.at, "reason that cannot be")
            need(tag == 2 or 1 <= f.varint() <= state[0], block.at, "caller that is not there")
            state[0] += 1
            names["cuts"] += 1
        elif tag == 3:
            f.varint(), f.varint(), f.varint(), f.text(4096)
            names["threads"] += 1
        elif tag == 4:
            start, end, _, _, build_id = f.varint(), f.varint(), f.signed(), f.text(4096), f.text(32)
            need(start < end, block.at, "module without an address")
            names["modules"] += 1
        elif tag == 5:
            names["unmapped"] += 1
        elif tag == 6:
            need(1 <= f.varint() <= 3 and f.varint() > 0, block.at, "rate that cannot be")
            names["rates"] += 1
        elif tag == 7:
            need(f.varint() > 0, block.at, "name without a number")
            f.text(256)
            names["names"] += 1
        elif tag == 8:
            need(f.varint() > 0, block.at, "function without a number")
            f.varint(), f.varint(), f.text(1024), f.text(3072)
            names["functions"] += 1
        elif tag == 9:
            need(1 <= f.varint() <= state[0], block.at, "caller that is not there")
            f.varint(), f.varint()
            state[0] += 1
            names["interpreted"] += 1
        elif tag in (10, 0x1a):
            f.varint(), f.varint(), f.varint(), f.varint()
            if tag == 0x1a:
                f.varint()
            names["code"] += 1
        elif tag in (11, 0x1b):
            f.varint(), f.varint(), f.varint()
            if tag == 0x1b:
                f.varint()
            names["interpreters"] += 1
        else:
            raise Bad(f"unknown definition {tag:#x} in the block at byte {block.at}")


def read(data):
    need(data[:8] == b"\x89HSCR\r\n\x1a", 0, "no trace")
    f = Fields(data[8:32])
    major, _minor, _zero, _started, abi, crc = f.fixed(2), f.fixed(2), f.fixed(4), f.fixed(8), f.fixed(4), f.fixed(4)
    need(major == 1 and abi in range(2, 10), 8, "another version")
    need(crc == crc32c(data[:28]), 28, "wrong crc of the header")
    blocks = scan(data)
    total, calls, drops, names, sums, numbering = Counter(), Counter(), Counter(), Counter(), {}, {}
    sequences, tables, maps, levels, last_ticks = {}, {}, {}, Levels(), {}
    for block in blocks:
        f = Fields(block.payload, block.at)
        if block.kind == SESSION:
            levels.started, _ = f.varint(), f.varint()
            f.text(), f.text(), f.list()
            if not f.ended():
                sections, marks, threads = f.list(), f.list(), f.list()
                need(len(marks) <= 1, block.at, "rules with more than one mark")
        elif block.kind == PROCESS:
            need(block.process == total["processes"], block.at, "wrong number of a process")
            pid, parent, stage = f.varint(), f.varint(), f.varint()
            need(stage < 2, block.at, "stage that cannot be")
            mono, _real, _parents, ticks = (f.varint() for _ in range(4))
            clock, shift = f.varint(), f.varint()
            need(clock < 2 and shift < 32, block.at, "clock that cannot be")
            f.text(), f.list()
            counts_calls = not f.ended() and f.varint()
            need(counts_calls in (0, 1), block.at, "unit of time that cannot be")
            if not f.ended():
                f.varint()  # by how much times may be early
            levels.processes[block.process] = (ticks, mono, clock, shift)
            levels.is_exact &= not counts_calls
            levels.pair(block.process, ticks, mono)
            total["processes"] += 1
            numbering[block.process] = [1, 0]
        elif block.kind == DEFINITIONS:
            read_definitions(block, numbering[block.process], names)
            continue
        elif block.kind == LIVE:
            read_live(block, tables)
            continue
        elif block.kind == BLOCKS:
            read_blocks(block, tables)
            continue
        elif block.kind == MEMORY_MAP:
            read_memory_map(block, maps)
            continue
        elif block.kind == PAGES:
            read_pages(block, maps)
            continue
        elif block.kind == SYMBOLS:
            read_symbols(block, total)
            continue
        elif block.kind == EVENTS:
            s, stacks, changes = sums_of_events(block)
            sums[block.at] = s
            levels.changes += [(block.process, *change) for change in changes]
            levels.pair(block.process, s["begin_ticks"], s["begin_mono"])
            levels.pair(block.process, s["end_ticks"], s["end_mono"])
            last_ticks[block.process] = max(last_ticks.get(block.process, 0), s["last"])
            need(max(stacks, default=0) < numbering[block.process][0], block.at, "stack before its definition")
            seen = sequences.setdefault((block.process, s["thread"]), set())
            need(s["sequence"] not in seen, block.at, "chunk that is there twice")
            seen.add(s["sequence"])
            for key in ("events", "allocs", "frees", "reallocs", "failed", "unknown_frees", "unknown_reallocs",
                        "lost", "allocated", "freed"):
                total[key] += s[key]
            for call, n in s["calls"].items():
                calls[KIND_OF_CALL[call]] += n
            continue
        elif block.kind == MEMORY:
            while not f.ended():
                [f.signed() for _ in range(4)]
                total["samples"] += 1
        elif block.kind == HEAP:
            f.text(), f.text()
            while not f.ended():
                [f.signed() for _ in range(13)]
                total["heap samples"] += 1
        elif block.kind == RESIDENT:
            last = [0] * 67  # mono, resident, nearly empty, parts
            while not f.ended():
                head, flags, parts = [f.signed() for _ in range(3)], f.varint(), f.varint()
                need(parts <= 64, block.at, "more parts than there can be")
                changes = head + [f.signed() for _ in range(parts)] + [0] * (64 - parts)
                last = [before + change for before, change in zip(last, changes)]
                need(flags < 4 and sum(last[3:]) == last[1], block.at, "parts that are not the whole")
                for _ in range(f.varint() if flags & 2 else 0):
                    _name, _thread, _begin, _took, left, size, pinned = (f.varint() for _ in range(7))
                    need(pinned <= last[2] and (left or not size), block.at, "section that left what is not there")
                total["resident samples"] += 1
        elif block.kind == PROCESS_END:
            ended, how = f.varint(), f.varint()
            need(how < 5 or 128 < how < 256, block.at, "end that cannot be")
            levels.ends[block.process] = (ended, how, last_ticks.get(block.process, 0))
            f.varint(), f.varint(), f.varint(), f.text()
            for reason in range(f.varint()):
                drops[DROPS[reason] if reason < len(DROPS) else str(reason)] += f.varint()
            f.varint(), f.varint()  # stacks that were taken twice, and those that were different
            if not f.ended():
                why = f.varint()
                need(why <= 3, block.at, "rule that cannot be")
                [f.varint() for _ in range(6 if why else 0)]
            if not f.ended():
                f.varint(), f.varint()  # the process's own peak and its ticks
            if not f.ended():
                for _ in range(f.varint()):
                    f.varint(), f.varint()  # what was recorded, and from when on
            if not f.ended():
                f.varint()  # from which ticks on times are exact
        elif block.kind == SESSION_END:
            f.varint(), f.varint(), f.signed(), [f.varint() for _ in range(6)]
            if not f.ended():  # programs that were not recorded
                for _ in range(f.varint()):
                    f.varint(), f.varint(), f.varint(), f.text()
                for _ in range(f.varint()):
                    f.varint(), f.varint()
        elif block.kind == INDEX:
            continue
        elif block.kind == EVICTED:
            [f.varint() for _ in range(9)]
            [f.varint() for _ in range(f.varint().bit_count())]
            if not f.ended():
                images = [f.varint() for _ in range(14)]  # of processes that are not in the trace
                total["evicted blocks"] += images[2]
                total["evicted bytes"] += images[4]
        need(f.ended(), block.at, "fields that this version does not have")
    total["listed"] = check_index(data, blocks, sums)
    total["missing"] = sum(max(seen) + 1 - len(seen) for seen in sequences.values())
    for (process, number), table in tables.items():
        need(table["found"] == table["blocks"], 0, f"table {number} of process {process} without all its blocks")
    for (process, number), map_ in maps.items():
        need(map_["found"] == map_["counts"], 0, f"memory map {number} of process {process} without all of it")
    levels.is_exact &= not names["rates"] and not tables
    return total, calls, drops, names, list(tables.values()), levels


def answer_of_table(table, drops):
    """What `report --json` says of a snapshot in which every block was recorded."""
    names = ("allocated.count", "allocated.bytes", "freed.count", "freed.bytes")
    return {"live.blocks": table["blocks"], "live.bytes": table["bytes"], **dict(zip(names, table["counters"])),
            **{f"dropped.{name}": drops[name] for name in DROPS}}


def answer(total, calls, drops, levels):
    """The totals under the names that `report --json` gives them."""
    peak = dict(zip(("peak.bytes", "peak.time_ns"), levels.peak())) if levels.is_exact else {}
    known = {kind: calls[kind] for kind in ("malloc", "calloc", "realloc", "aligned", "free")}
    return {
        **{f"calls.{kind}": n for kind, n in known.items()},
        "calls.total": sum(known.values()),
        "allocations": total["allocs"] + total["reallocs"] + total["unknown_reallocs"],
        "bytes_allocated": total["allocated"],
        "frees": total["frees"] + total["reallocs"],
        "bytes_freed": total["freed"],
        "failed": total["failed"],
        "unknown_blocks": total["unknown_frees"] + total["unknown_reallocs"],
        **peak,
        **{f"dropped.{name}": drops[name] for name in DROPS},
    }


def leaked(tables, total):
    """What was never freed, where each process has a table of that."""
    after = [table for table in tables if table["role"] == AFTER and not table["sampled"]]
    if not after or len(after) != total["processes"]:
        return {}
    blocks, bytes_ = (sum(t["heap"][n] for t in after) for n in range(2))
    return {"leaked.blocks": blocks + total["evicted blocks"], "leaked.bytes": bytes_ + total["evicted bytes"]}


def compare(mine, path):
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    wrong = 0
    for key, value in mine.items():
        theirs = report
        for part in key.split("."):
            theirs = theirs[part]
        if theirs != value:
            print(f"DIFFERS {key}: {value} here, {theirs} in the report")
            wrong += 1
    print(f"{len(mine) - wrong} of {len(mine)} figures agree")
    return 1 if wrong else 0


def main(arguments):
    if len(arguments) not in (1, 3) or (len(arguments) == 3 and arguments[1] != "--compare"):
        sys.exit(__doc__)
    with open(arguments[0], "rb") as file:
        data = file.read()
    total, calls, drops, names, tables, levels = read(data)
    is_snapshot = len(tables) == 1 and not total["events"] and tables[0]["role"] != AFTER
    mine = answer_of_table(tables[0], drops) if is_snapshot else answer(total, calls, drops, levels)
    mine.update({} if is_snapshot else leaked(tables, total))
    if len(arguments) == 3:
        return compare(mine, arguments[2])
    print(f"{len(data)} bytes, {total['listed']} blocks, {total['processes']} processes, {total['events']} events, "
          f"{total['samples']} memory samples")
    print(", ".join(f"{n} {name}" for name, n in names.items()))
    if total["missing"]:
        print(f"{total['missing']} chunks are missing: of some threads later ones are there")
    for key, value in mine.items():
        if value or not key.startswith("dropped."):
            print(f"{key:20} {value}")
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        sys.exit(main(sys.argv[1:]))
    except Bad as bad:
        sys.exit(f"{sys.argv[1]}: {bad}")
