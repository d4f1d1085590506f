#!/usr/bin/env bash
# What it takes to start programs that do nothing, bare and under `run` and `record`: CPU time (user and system, of all
# processes) of the command for /bin/true, and of each further process that a shell starts under it. Medians.
#   bench/start.sh [TURNS]     HEAPSCRIBE names the program, else that of target/release
set -euo pipefail
turns=${1:-15}
heapscribe=${HEAPSCRIBE:-$(dirname "$0")/../target/release/heapscribe}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
echo "$(date -u '+%Y-%m-%d %H:%M UTC'), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) cores, Linux $(uname -r), load $(cut -d' ' -f1 /proc/loadavg), $turns turns"
python3 - "$heapscribe" "$place" "$turns" <<'PY'
import resource, statistics, subprocess, sys

heapscribe, place, turns = sys.argv[1], sys.argv[2], int(sys.argv[3])
PROCESSES = 100
HOW = {
    "bare": [],
    "run --heap system": [heapscribe, "run", "--heap", "system", "--"],
    "run --heap tlsf": [heapscribe, "run", "--heap", "tlsf", "--"],
    "run --heap tlsf --prefault": [heapscribe, "run", "--heap", "tlsf", "--prefault", "--"],
    "record": [heapscribe, "record", "-q", "--force", "-o", place + "/run.hst", "--"],
}


def cpu_ms(command):
    def used():
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return children.ru_utime + children.ru_stime

    before = used()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return (used() - before) * 1e3


def loop(count):
    return ["sh", "-c", f"i=0; while [ $i -lt {count} ]; do /bin/true; i=$((i+1)); done"]


print("| how | the command, ms | each further process, ms |\n|---|--:|--:|")
once, more = {how: [] for how in HOW}, {how: [] for how in HOW}
for _ in range(turns):  # One after the other, so that a busy machine is as busy for each.
    for how, begin in HOW.items():
        once[how].append(cpu_ms(begin + ["/bin/true"]))
        more[how].append((cpu_ms(begin + loop(PROCESSES)) - cpu_ms(begin + loop(0))) / PROCESSES)
for how in HOW:
    print(f"| {how} | {statistics.median(once[how]):.1f} | {statistics.median(more[how]):.2f} |")
PY
