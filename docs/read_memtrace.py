#!/usr/bin/env python3
"""Reads a memtrace file (versions 1 to 3) without heapscribe, and prints what is in it.

    python3 docs/read_memtrace.py FILE.ctf                  a summary
    python3 docs/read_memtrace.py FILE.ctf --dump           every event, as `heapscribe dump --style memtrace`
    python3 docs/read_memtrace.py FILE.ctf --compare TRACE.json
                                                            the same totals as `heapscribe report --json` of the
                                                            trace that FILE.ctf was made of, to 8 bytes a block

Written from the description of the format alone, so that two programs which share no code agree.
"""
import collections
import json
import struct
import sys

MAGIC = 0xC1FC1FC1
SOURCES = ("alloc", "alloc_major", "alloc_ext")


class Bad(Exception):
    pass


class Bytes:
    """Fields one after the other."""

    def __init__(self, data, begin, end):
        self.data, self.at, self.end = data, begin, end

    def take(self, form):
        size = struct.calcsize(form)
        if self.at + size > self.end:
            raise Bad(f"cut at byte {self.at}")
        (value,) = struct.unpack_from(form, self.data, self.at)
        self.at += size
        return value

    def int63(self):
        value = self.take("<Q") & (1 << 63) - 1
        return value - (1 << 63) if value >> 62 else value

    def vint(self):
        first = self.take("<B")
        if first < 253:
            return first
        return self.take("<H") if first == 253 else self.take("<i") if first == 254 else self.int63()

    def text(self):
        end = self.data.find(b"\0", self.at, self.end)
        if end < 0:
            raise Bad(f"text without an end at byte {self.at}")
        text, self.at = self.data[self.at:end], end + 1
        return text.decode("utf-8", "backslashreplace")


class Header:
    def __init__(self, data, at):
        b = Bytes(data, at, len(data))
        magic, bits = b.take("<I"), b.take("<i")
        self.begin, self.end, _ = b.take("<q"), b.take("<q"), b.take("<I")
        self.version, self.pid = b.take("<H"), b.take("<q")
        self.domain = b.take("<H") if self.version >= 3 else 0
        self.verifier = (b.take("<H"), b.take("<H"), b.int63())
        self.first_id, self.last_id = b.take("<q"), b.take("<q")
        self.content, self.next = b.at, at + bits // 8
        if magic != MAGIC or self.version > 3 or self.begin > self.end or self.first_id > self.last_id:
            raise Bad(f"no packet of versions 1 to 3 at byte {at}")
        if self.next < self.content:
            raise Bad(f"packet smaller than its header at byte {at}")


class Domain:
    """What goes on from packet to packet."""

    def __init__(self, start):
        self.codes, self.next = [0] * 16384, [0] * 16384
        self.stack, self.files, self.last = [], [], start


class Trace:
    def __init__(self, data):
        self.data, self.locations, self.domains, self.skipped = data, {}, {}, []
        head = Header(data, 0)
        b = Bytes(data, head.content, head.next)
        if self.event_header(head, b)[0] != 0:
            raise Bad("the first packet has no trace info")
        self.rate, self.word = b.take("<d"), b.take("<B")
        self.exe, self.host, self.params = b.text(), b.text(), b.text()
        self.pid = b.take("<q")
        self.context = b.text() if head.version >= 2 else ""
        self.start, self.first = head.begin, head.next

    @staticmethod
    def event_header(head, b):
        word = b.take("<I")
        low, base = word & 0x1FFFFFF, head.begin & 0x1FFFFFF
        time = head.begin - base + low + (0x2000000 if low < base else 0)
        if not head.begin <= time <= head.end:
            raise Bad(f"event time outside its packet at byte {b.at - 4}")
        return word >> 25, time

    def events(self):
        at = self.first
        while at < len(self.data):
            head = Header(self.data, at)
            if head.pid != self.pid:
                self.skipped.append(f"packet of pid {head.pid} at byte {at}")
            elif head.next > len(self.data):
                self.skipped.append(f"cut packet at byte {at}")
                return
            else:
                yield from self.packet(head)
            at = head.next

    def packet(self, head):
        domain = self.domains.setdefault(head.domain, Domain(self.start))
        index, following, code = head.verifier
        if index != 0xFFFF and (domain.next[index], domain.codes[index]) != (following, code):
            raise Bad(f"the cache is not as the header before byte {head.content} says")
        b, number = Bytes(self.data, head.content, head.next), head.first_id
        while b.at < b.end:
            kind, time = self.event_header(head, b)
            if time < domain.last:
                raise Bad(f"time goes back before byte {b.at}")
            domain.last, since = time, time - self.start
            if kind == 1:
                self.location(domain, b)
            elif kind in (3, 4):
                yield (since, "promote" if kind == 3 else "collect", number - 1 - b.vint(), head.domain)
            elif kind == 2 or 101 <= kind <= 116:
                words, samples, source = (kind - 100, 1, 0) if kind > 100 else (b.vint(), b.vint(), b.take("<B"))
                common, n = b.vint(), b.take("<B" if kind > 100 else "<H")
                self.stack(domain, b, common, n)
                yield (since, SOURCES[source], number, head.domain, samples, words, common, domain.stack)
                number += 1
            else:
                raise Bad(f"unknown event {kind} before byte {b.at}")
        if number != head.last_id:
            raise Bad(f"{number} objects, the header before byte {head.content} says {head.last_id}")

    def stack(self, domain, b, common, n):
        fits = common <= len(domain.stack)
        frames = domain.stack[:common] if fits else []
        place = 0
        for _ in range(n):
            word = b.take("<H")
            bucket, tag = word >> 2, word & 3
            domain.next[place] = place = bucket
            if tag == 3:
                domain.codes[bucket] = b.int63()
            frames.append(domain.codes[bucket])
            for _ in range(0 if tag == 3 else b.take("<B") if tag == 2 else tag):
                place = domain.next[place]
                frames.append(domain.codes[place])
        if fits:
            domain.stack = frames

    def location(self, domain, b):
        code, n, frames = b.int63(), b.take("<B"), []
        for _ in range(n):
            bits = b.take("<I") | b.take("<H") << 32
            place, function = bits >> 38 & 31, bits >> 43 & 31
            if place == 31:
                old = domain.files.pop()[1] if len(domain.files) == 31 else []
                domain.files.insert(0, (b.text(), old))
            else:
                domain.files.insert(0, domain.files.pop(place))
            file, functions = domain.files[0]
            if function == 31:
                functions.insert(0, b.text())
                del functions[31:]
            else:
                functions.insert(0, functions.pop(function))
            span = f"{bits & 0xFFFFF}:{bits >> 20 & 255}-{bits >> 28 & 1023}"
            frames.append(f"{functions[0]}@{file}:{span}")
        if self.locations.setdefault(code, frames) != frames:
            raise Bad(f"another location for code {code} before byte {b.at}")


def dump(trace):
    for time, what, number, domain, *alloc in trace.events():
        if not alloc:
            print(f"{time:010d} {number:010d} {what} dom={domain}")
            continue
        samples, words, common, stack = alloc
        names = " ".join(" ".join(trace.locations[code]) or f"${code}" for code in stack)
        spaced = f" {common}" if common >= 0 else str(common)
        print(f"{time:010d} {number:010d} {what} {samples} len={words} dom={domain} {spaced:>4}: {names}")


def summary(trace):
    """Totals of allocations and ends; a block's size is its words."""
    sums, sizes = collections.Counter(), {}
    for _, what, number, _, *alloc in trace.events():
        if alloc:
            sizes[number] = alloc[1]
            sums.update(allocations=1, words=alloc[1], samples=alloc[0], frames=len(alloc[3]))
        elif what == "collect":
            sums.update(frees=1, freed_words=sizes.pop(number, 0))
    sums["left"], sums["left_words"] = len(sizes), sum(sizes.values())
    return sums


def compare(sums, report):
    """What differs from a report of the trace that the file was made of."""
    wrong = []
    for count, words, size in (("allocations", "words", "bytes_allocated"), ("frees", "freed_words", "bytes_freed")):
        if sums[count] != report[count]:
            wrong.append(f"{count}: {sums[count]}, the report says {report[count]}")
        over = sums[words] * 8 - report[size]
        if not 0 <= over < 8 * max(1, sums[count]):
            wrong.append(f"{words}: {sums[words] * 8} bytes, the report says {report[size]}")
    return wrong


def main():
    with open(sys.argv[1], "rb") as file:
        trace = Trace(file.read())
    if "--dump" in sys.argv:
        return dump(trace)
    sums = summary(trace)
    print(f"{trace.exe} on {trace.host}, pid {trace.pid}, rate {trace.rate}, {len(trace.domains)} domains")
    print(", ".join(f"{name} {sums[name]}" for name in sorted(sums)))
    print("\n".join(trace.skipped))
    if "--compare" in sys.argv:
        with open(sys.argv[sys.argv.index("--compare") + 1], encoding="utf-8") as file:
            wrong = compare(sums, json.load(file))
        print("\n".join(wrong) or "the report says the same")
        sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    try:
        main()
    except Bad as bad:
        sys.exit(f"{sys.argv[1]}: {bad}")
    except BrokenPipeError:
        pass
