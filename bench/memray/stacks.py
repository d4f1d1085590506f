"""Stacks of both tools in one form, rows of bytes and frames (function, file, line; the innermost first), and what they
name: the frame that a table of them shows, and the line of the program that has most bytes."""
import dataclasses
from collections import Counter
from pathlib import Path


def heapscribe_stacks(report):
    """All bytes and the rows of `heapscribe report --json --live-at MOMENT`; the smallest rows are not in it."""

    def row(stack):
        frames = [[f["function"] or "?", f["file"] or f["module"] or "?", f["line"] or 0] for f in stack["frames"]]
        return [stack["live"]["bytes"], frames]

    return report["live"]["bytes"], [row(stack) for stack in report["stacks"]]


def marked_lines(files):
    """The lines that the sources say are those of leak and peak."""
    lines = {"leak": set(), "peak": set()}
    for file in files:
        for number, text in enumerate(file.read_text().splitlines(), 1):
            for what in lines:
                if f"# {what.upper()}" in text or f"/* {what.upper()} */" in text:
                    lines[what].add(f"{file.name}:{number}")
    return lines


@dataclasses.dataclass
class Named:
    """What a tool names."""

    total: int
    innermost: str
    own: str
    verdict: str

    @staticmethod
    def of(total, rows, own_directory, right):
        innermost, own = Counter(), Counter()
        for size, frames in rows:
            if not frames:
                continue
            innermost[shown(frames[0])] += size
            mine = (frame for frame in frames if frame[1].startswith(own_directory))
            line = next(mine, None)
            if line is not None:
                own[shown(line)] += size
        place, size = own.most_common(1)[0] if own else ("none", 0)
        is_right = place.rsplit(" ", 1)[-1] in right
        share = 100 * size / total if total else 0
        first = innermost.most_common(1)[0][0] if innermost else "none"
        return Named(total, first, place, f"{'yes' if is_right else 'no'}, {share:.0f} %")


def shown(frame):
    function, file, line = frame
    return f"{function} {Path(file).name}:{line}"
