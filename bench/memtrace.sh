#!/usr/bin/env bash
# How fast memtrace files are read and written: `bench/memtrace.sh FILE.ctf ...`, largest first when that is
# what you want to know. Prints machine, date, load and a line or two for each file.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { echo "usage: bench/memtrace.sh FILE.ctf ..." >&2; exit 2; }
files=()
for file in "$@"; do files+=("$(realpath "$file")"); done
target=${CARGO_TARGET_DIR:-target}
cargo bench -q -p heapscribe-formats --bench memtrace_speed --no-run
cargo build --release -q -p heapscribe
echo "$(date -u '+%Y-%m-%d %H:%M UTC'), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) cores, Linux $(uname -r), load $(cut -d' ' -f1 /proc/loadavg)"
cargo bench -q -p heapscribe-formats --bench memtrace_speed -- "${files[@]}"
# The program with its output thrown away: what a user waits, and the largest resident size.
for file in "${files[@]}"; do
    for how in "dump --style memtrace" "dump --style memtrace --no-stacks" report; do
        python3 - "$target/release/heapscribe" "$how" "$file" <<'PY'
import resource, subprocess, sys
program, how, file = sys.argv[1:]
subprocess.run([program, *how.split(), file], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"    heapscribe {how:<34} {used.ru_utime + used.ru_stime:6.2f} s CPU, {used.ru_maxrss / 1024:6.1f} MiB  {file.rsplit('/', 1)[-1]}")
PY
    done
done
