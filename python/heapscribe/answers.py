"""What a trace says of tests, each in a section of its own: the peak of what was allocated in it, and what was left.

All tests of a trace are answered by one pass over its events, as text without names. Names are looked up only for
a test that left more than it may.
"""

import array
import bisect
import collections
import json
import os
import subprocess
import tempfile

from . import program

#: Bytes that were left of a stack, and its frames as text.
Leak = collections.namedtuple("Leak", "size frames")


class Answers:
    """The figures of all sections of a trace."""

    def __init__(self, trace):
        self.trace = trace
        self.problems = _problems(trace)
        self.sections = {}
        changes = collections.defaultdict(Changes)
        notes = _read(trace, changes)
        for process, name, begin, end in notes:
            self.sections.setdefault(name, Section(process, begin, end))
        for process, of_process in changes.items():
            sections = [section for section in self.sections.values() if section.process == process]
            of_process.to(sorted(sections, key=lambda section: section.begin))
        for section in self.sections.values():
            section.sum()

    def leaks(self, name):
        """What blocks of a section are live at its end, by stack, the most first, with names."""
        section = self.sections[name]
        report = json.loads(_output([
            "report", self.trace, "--json", "--born-in", f"section:{name}", "--live-at", f"{section.end}ns",
        ]))
        leaks = [Leak(stack["live"]["bytes"], [_frame(frame) for frame in stack["frames"]]) for stack in report["stacks"]]
        return sorted(leaks, key=lambda leak: -leak.size)


class Section:
    """The time of one test, ns after the start."""

    def __init__(self, process, begin, end):
        self.process = process
        self.begin = begin
        self.end = end
        self.steps = []
        self.peak = self.left = 0

    def sum(self):
        # What is freed at a moment makes room for what is allocated at it: a realloc is both.
        self.steps.sort()
        for _, change in self.steps:
            self.left += change
            self.peak = max(self.peak, self.left)
        self.steps = []


class Changes:
    """What was allocated and freed in a process: when, how many bytes, and when the block was allocated."""

    def __init__(self):
        self.times, self.sizes, self.births = array.array("q"), array.array("q"), array.array("q")

    def add(self, time, size, birth):
        self.times.append(time)
        self.sizes.append(size)
        self.births.append(birth)

    def to(self, sections):
        """Gives each change to the section in which its block was allocated, if it happened there as well."""
        begins = [section.begin for section in sections]
        for time, size, birth in zip(self.times, self.sizes, self.births):
            number = bisect.bisect_right(begins, birth) - 1
            if number >= 0 and birth < sections[number].end and time < sections[number].end:
                sections[number].steps.append((time, size))


def _read(trace, changes):
    """Reads the events of a trace: its sections, as (process, name, begin, end)."""
    names, begins, sections = {}, {}, []
    with tempfile.TemporaryFile() as errors:
        words = [program(), "dump", "--no-stacks", trace]
        dump = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True, errors="replace")
        with dump:
            for line in dump.stdout:
                words = line.split(" ", 7)
                if line.startswith("#"):
                    if words[2:3] == ["name"]:
                        names[words[1], words[3]] = line.split(" ", 4)[4].rstrip("\n")
                    continue
                sign, time = words[3], int(words[0])
                if sign == "+":
                    changes[words[1]].add(time, int(words[4]), time)
                elif sign == "-":
                    changes[words[1]].add(time, -int(words[4]), time - int(words[5]))
                elif sign == "~":
                    old, new = words[4].split(">")
                    changes[words[1]].add(time, -int(old), time - int(words[5]))
                    changes[words[1]].add(time, int(new), time)
                elif sign == "?" and words[4].startswith("->"):
                    changes[words[1]].add(time, int(words[4][2:]), time)
                elif sign == "@":
                    name, note = names.get((words[1], words[6])), words[7].rstrip("\n")
                    if note == "section_begin":
                        begins[words[1], name] = time
                    elif note == "section_end" and (words[1], name) in begins:
                        sections.append((words[1], name, begins[words[1], name], time))
        if dump.returncode not in (0, 3):
            errors.seek(0)
            raise RuntimeError(f"heapscribe dump failed with code {dump.returncode}:\n{errors.read().decode(errors='replace')}")
    return sections


def _problems(trace):
    """What is missing of a recording, in words; where there is something, no figure is whole."""
    report = json.loads(_output(["report", trace, "--json", "--from", "0%", "--top", "1"]))
    problems = list(report["problems"]) + [json.dumps(lost) for lost in report["missing"]]
    return problems or (["events are missing"] if report["events_missing"] else [])


def _frame(frame):
    name = frame.get("function") or f"{os.path.basename(frame.get('module') or '')}+{frame.get('offset') or 0:#x}"
    return f"{name} {frame['file']}:{frame.get('line') or 0}" if frame.get("file") else name


def _output(words):
    done = subprocess.run([program(), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # 3: the answer is there, but something is missing, which it says itself.
    if done.returncode not in (0, 3):
        raise RuntimeError(f"heapscribe {words[0]} failed with code {done.returncode}:\n{done.stderr}")
    return done.stdout
