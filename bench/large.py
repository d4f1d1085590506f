#!/usr/bin/env python3
"""What large traces take: the index, questions about ranges, a report, and the viewer in a browser.

    bench/large.py HEAPSCRIBE HEAPSCRIBE_BENCH [--dir DIR] [--sizes 10MB 1GB 10GB] [--questions 1000] [--browser chromium]

records bench/programs/objects.py (python3 with PYTHONMALLOC=malloc) once and repeats it until a trace is as large as is
asked for; the index is made by `heapscribe-bench ranges`, which asks it as many random questions, and is the one that
`heapscribe view` then opens. Prints a table in Markdown. CPU is that of all threads and children. Traces stay in DIR, and
a second run uses them. 10 GB need 12 GB of disk and, on two cores that have nothing else to do, about half an hour."""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UNITS = {"MB": 10**6, "GB": 10**9}
LATENCY = ROOT / "crates/viewer/tests/browser/latency.mjs"


def size_bytes(text):
    found = re.fullmatch(r"(\d+)(MB|GB)", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text}: not a size such as 10MB or 1GB")
    return int(found[1]) * UNITS[found[2]]


def recorded(args):
    """The recording that is repeated, and how many events it has."""
    trace = args.dir / "recorded.hst"
    if not trace.exists():
        env = dict(os.environ, PYTHONMALLOC="malloc", PYTHONHASHSEED="0")
        program = ["/usr/bin/python3", ROOT / "bench/programs/objects.py"]
        subprocess.run([args.heapscribe, "record", "-q", "-o", trace, "--", *program], env=env, check=True, stdout=subprocess.DEVNULL)
    told = subprocess.run([args.bench, "ranges", trace, "--trace", trace, "--questions", "0"], capture_output=True, text=True, check=True).stdout
    return trace, int(float(re.search(r"index: ([\d.]+) M events", told)[1]) * 1e6)


def ranges(args, small, events, trace):
    """What `ranges` prints, as cells."""
    command = [args.bench, "ranges", small, "--trace", trace, "--events", str(events), "--questions", str(args.questions)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    print(told, file=sys.stderr)
    of = lambda pattern: re.search(pattern, told)
    asked = r"median ([\d.]+) ms, 95 % ([\d.]+) ms, worst ([\d.]+) ms"
    clock, cpu = of(r"questions, " + asked), of(r"\n +CPU: " + asked)
    return {
        "events, M": of(r"index: ([\d.]+) M events")[1],
        "making the index, M events/s/core": of(r"([\d.]+) M/s/core")[1],
        "the index, MB": f"{int(of('([0-9]+) bytes of a trace')[1]) / 1e6:.0f}",
        "questions, by the clock, median / worst, ms": f"{clock[1]} / {clock[3]}",
        "questions, CPU, median / worst, ms": f"{cpu[1]} / {cpu[3]}",
        "memory of both, MiB": re.findall(r"at most (\d+) MiB", told)[-1],
    }


def report(args, trace, events):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([args.heapscribe, "report", trace, "--json"], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"`report --json`, M events/s/core": f"{events / 1e6 / cpu:.1f}"}


def get(url):
    with urllib.request.urlopen(url, timeout=600) as answer:
        return answer.read()


def view(args, trace, is_quick):
    """The viewer: from its start to its address, the answers of a first page, the browser."""
    begun = time.monotonic()
    server = subprocess.Popen([args.heapscribe, "view", trace, "--no-open", "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        address = server.stdout.readline().strip()
        started = time.monotonic()
        for part in ["", "main.js", "api/summary", "api/time", "api/flame?show=live&at=peak"]:
            get(address + part)
        cells = {
            "from the start to the address, ms": f"{(started - begun) * 1e3:.0f}",
            "answers of the first page after it, ms": f"{(time.monotonic() - started) * 1e3:.0f}",
        }
        if args.browser:
            cells |= browser(args, address, is_quick)
        status = Path(f"/proc/{server.pid}/status").read_text()
        kilobytes = int(re.search(r"VmHWM:\s+(\d+)", status)[1])
        cells["memory of the server, MB"] = f"{kilobytes / 1000:.0f}"
        return cells
    finally:
        server.terminate()
        server.wait()


def browser(args, address, is_quick):
    with tempfile.TemporaryDirectory() as profile:
        how = ["quick"] if is_quick else []
        told = subprocess.run(["node", LATENCY, args.browser, profile, address, "20", *how], capture_output=True, text=True, check=True).stdout
    print(told, file=sys.stderr)
    rows = re.findall(r"^\| ([a-z][^|]*) \| (\d+) \|", told, re.M)
    memory = re.search(r"Memory of the page: .*", told)
    return {f"in the browser: {name}, ms": ms for name, ms in rows} | ({"the browser": memory[0]} if memory else {})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("heapscribe", type=Path)
    parser.add_argument("bench", type=Path)
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()) / "heapscribe-large")
    parser.add_argument("--sizes", nargs="+", type=size_bytes, default=[10**7, 10**9, 10**10])
    parser.add_argument("--questions", type=int, default=1000)
    parser.add_argument("--browser", help="a chromium to measure interactions in, with node")
    args = parser.parse_args()
    args.dir.mkdir(parents=True, exist_ok=True)
    args.heapscribe, args.bench = args.heapscribe.resolve(), args.bench.resolve()
    small, events = recorded(args)
    columns = {}
    for size in args.sizes:
        name = f"{size / 1e9:g} GB" if size >= 10**9 else f"{size / 1e6:g} MB"
        trace = args.dir / f"{name.replace(' ', '')}.hst"
        # A repetition takes about as many bytes as the recording.
        wanted = max(events, int(size * events / small.stat().st_size))
        cells = ranges(args, small, wanted, trace)
        made = int(float(cells["events, M"]) * 1e6)
        cells |= report(args, trace, made) if size < 10**10 else {}
        cells |= view(args, trace, size >= 10**10)
        cells["load"] = f"{os.getloadavg()[0]:.0f}"
        columns[f"{name}: {trace.stat().st_size / 1e6:,.0f} MB"] = cells
    rows = dict.fromkeys(row for cells in columns.values() for row in cells)
    print("| | " + " | ".join(columns) + " |\n|---|" + "--:|" * len(columns))
    for row in rows:
        print(f"| {row} | " + " | ".join(cells.get(row, "") for cells in columns.values()) + " |")


main()
