#!/usr/bin/env python3
"""compare.py HEAPSCRIBE [-n ROUNDS] [-p PROGRAMS] [-d DIRECTORY]: memray beside heapscribe for the programs of this folder, each of which has
a line that leaks (`# LEAK`) and one that makes the peak (`# PEAK`). Needs gcc, Debian's python3 with python3-dev and
python3-venv, and pip. Each round runs every tool once; CPU is user and system time of all that was started."""
import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path

from stacks import Named, heapscribe_stacks, marked_lines

HERE = Path(__file__).resolve().parent
MEMRAY = "memray==1.20.0"
PROGRAMS = ["flask_handler", "pandas_cache", "extension", "list_growth"]


class Place:
    """Where the Python environment, the module in C and the recordings are."""

    def __init__(self, directory, heapscribe):
        self.directory = directory
        self.python = directory / "venv/bin/python3"
        self.heapscribe = heapscribe
        self.watch = directory / "rusage"
        self.environment = dict(os.environ, PYTHONPATH=str(directory), PYTHONHASHSEED="0")
        self.environment.pop("PYTHONMALLOC", None)

    def prepare(self):
        run([HERE.parent / "interpreters/prepare.sh", self.directory])
        run([self.python, "-m", "pip", "install", "-q", MEMRAY])
        variables = "import sysconfig as s; print(s.get_path('include'), s.get_config_var('EXT_SUFFIX'))"
        include, suffix = run(["/usr/bin/python3", "-c", variables]).split()
        run(["gcc", "-O2", "-g", "-shared", "-fPIC", f"-I{include}", HERE / "fastrow.c", "-o", self.directory / f"fastrow{suffix}"])
        run(["gcc", "-O2", "-static", HERE.parent / "programs/rusage.c", "-o", self.watch])

    def trace(self, tool):
        return self.directory / f"{tool}.trace"


def run(command, **more):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"error: {command} ended with {done.returncode}: {done.stderr[-800:]}")
    return done.stdout


def tools(place):
    """Name, what stands before the program, and whether it makes a recording."""
    record = [place.heapscribe, "record", "-q", "--force", "-o"]
    memray = [place.python, "-m", "memray", "run", "--native", "-q", "-f", "-o"]
    objects = ["--python-allocators", "--", place.python]
    return {
        "alone": [place.python],
        "heapscribe": [*record, place.trace("heapscribe"), "--", place.python],
        "heapscribe, objects": [*record, place.trace("heapscribe, objects"), *objects],
        "memray": [*memray, place.trace("memray")],
        "memray, objects": [*memray, place.trace("memray, objects"), "--trace-python-allocators"],
    }


def cost(place, command):
    """CPU and wall time in seconds."""
    note = place.directory / "note"
    run([place.watch, note, place.directory / "out", place.directory / "err", "--", *command], env=place.environment)
    user, system, wall, *_ = note.read_text().split()
    return float(user) + float(system), float(wall)


def reading(place, tool):
    """What a person runs on a recording."""
    if tool.startswith("memray"):
        return [place.python, "-m", "memray", "flamegraph", "-f", "-o", place.directory / "peak.html", place.trace(tool)]
    return [place.heapscribe, "report", place.trace(tool)]


def live_at(place, tool, moment):
    """The report on what was live then."""
    return json.loads(run([place.heapscribe, "report", "--json", "--top", "3000", "--live-at", moment, place.trace(tool)]))


def named(place, program, tool):
    own = str(HERE) + "/"
    lines = marked_lines([HERE / f"{program}.py"] + ([HERE / "fastrow.c"] if program == "extension" else []))
    if tool.startswith("memray"):
        stacks = json.loads(run([place.python, HERE / "memray_stacks.py", place.trace(tool), own]))
        never_freed = None
    else:
        never_freed = json.loads(run([place.heapscribe, "report", "--json", "--top", "1", place.trace(tool)]))["leaked"]["bytes"]
        run([*tools(place)[tool], HERE / "until_end.py", HERE / f"{program}.py"], env=place.environment)
        stacks = {what: heapscribe_stacks(live_at(place, tool, at)) for what, at in (("leak", "100%"), ("peak", "peak"))}
    answer = {what: Named.of(*stacks[what], own, lines[what]) for what in ("leak", "peak")}
    return dict(answer, never_freed=never_freed)


def measure(place, program, rounds):
    costs = {tool: [] for tool in tools(place)}
    for turn in range(rounds):
        names = list(costs)
        for i in range(len(names)):
            tool = names[(turn + i) % len(names)]
            costs[tool].append(cost(place, [*tools(place)[tool], HERE / f"{program}.py"]))
            print(f"{program} {tool}: {costs[tool][-1][0]:.2f} s of CPU", file=sys.stderr)
    said = {}
    for tool in list(costs)[1:]:
        size = place.trace(tool).stat().st_size
        reading_s, _ = cost(place, reading(place, tool))
        said[tool] = dict(named(place, program, tool), file_bytes=size, reading_s=reading_s)
    return costs, said


def factor(costs, tool, which):
    return statistics.median(mine[which] / alone[which] for mine, alone in zip(costs[tool], costs["alone"]))


def cost_rows(program, costs, said):
    alone = statistics.median(cpu for cpu, _ in costs["alone"])
    yield f"| {program} | alone | {alone:.2f} | | | | |"
    for tool, answer in said.items():
        cpu = statistics.median(cpu for cpu, _ in costs[tool])
        factors = f"{factor(costs, tool, 0):.2f} | {factor(costs, tool, 1):.2f}"
        yield f"| | {tool} | {cpu:.2f} | {factors} | {answer['file_bytes'] / 1e6:.2f} | {answer['reading_s']:.2f} |"


def name_rows(program, said):
    for what in ("leak", "peak"):
        for i, (tool, answer) in enumerate(said.items()):
            row, never_freed = answer[what], answer["never_freed"] if what == "leak" else None
            begin = f"{program}, {what}" if i == 0 else ""
            at_exit = "" if never_freed is None else f"{never_freed / 1e6:.1f} MB"
            frames = f"`{row.innermost}` | `{row.own}` | {row.verdict}"
            yield f"| {begin} | {tool} | {row.total / 1e6:.1f} MB | {frames} | {at_exit} |"


def facts(rounds):
    model = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    load = Path("/proc/loadavg").read_text().split()[0]
    commit = run(["git", "-C", HERE, "rev-parse", "--short=12", "HEAD"]).strip()
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    python = run(["/usr/bin/python3", "--version"]).strip()
    return (
        f"{date}, commit {commit}: {os.cpu_count()} cores of {model}, Linux {platform.release()}, {python} of Debian 12, "
        f"{MEMRAY}, medians of {rounds} interleaved rounds; load of the machine at the end {load}."
    )


COST_HEAD = """| program | tool | CPU s | CPU x | wall x | file MB | reading, CPU s |
|---|---|--:|--:|--:|--:|--:|"""
NAME_HEAD = """| program, of | tool | in all | innermost frame with most | line of the program with most | is it the line | never freed after an ordinary end |
|---|---|--:|---|---|---|--:|"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("heapscribe", type=Path)
    parser.add_argument("-n", "--rounds", type=int, default=5)
    parser.add_argument("-p", "--programs", default=",".join(PROGRAMS))
    parser.add_argument("-d", "--directory", type=Path, default=Path("target/bench/memray"))
    args = parser.parse_args()
    place = Place(args.directory.resolve(), args.heapscribe.resolve())
    place.prepare()
    costs, names = [COST_HEAD], [NAME_HEAD]
    for program in args.programs.split(","):
        of_program = measure(place, program, args.rounds)
        costs += cost_rows(program, *of_program)
        names += name_rows(program, of_program[1])
        page = "\n".join([facts(args.rounds), "", *costs, "", *names, ""])
        (place.directory / "results.md").write_text(page)
    print(page)


main()
