#!/bin/sh
# How long a snapshot of a million live blocks holds the process back, and how long it takes in all.
#   bench/snapshot.sh [BLOCKS [TIMES]]     HEAPSCRIBE names the program, else that of target/release
set -eu
blocks=${1:-1000000} times=${2:-10}
here=$(cd "$(dirname "$0")" && pwd)
heapscribe=${HEAPSCRIBE:-$here/../target/release/heapscribe}
place=$(mktemp -d) base=$(mktemp -d /dev/shm/heapscribe-bench.XXXXXX)
trap 'kill "$program" 2>/dev/null || true; wait; rm -rf "$place" "$base"' EXIT
cc -O2 -o "$place/live_blocks" "$here/programs/live_blocks.c"
"$heapscribe" record -q -o "$place/run.hst" --session-dir "$base" -- "$place/live_blocks" "$blocks" >"$place/out" &
until grep -q ready "$place/out"; do sleep 0.1; done
program=$("$heapscribe" ps --json --session-dir "$base" | sed 's/.*"pid":\([0-9]*\).*/\1/')
sleep 2 # the drainer catches up
for _ in $(seq "$times"); do
    start=$(date +%s%N)
    "$heapscribe" snapshot "$program" --session-dir "$base" -o "$place/live.hst" --force 2>"$place/said"
    end=$(date +%s%N)
    echo "$(tail -n 1 "$place/said"); $(((end - start) / 1000000)) ms in all"
done
head -n 1 "$place/said"
stat -c '%s bytes of file' "$place/live.hst"
