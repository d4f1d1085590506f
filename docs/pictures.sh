#!/usr/bin/env bash
# Makes the pictures of the viewer in docs/images, from a recording of docs/programs/count.pl:
#
#     docs/pictures.sh [HEAPSCRIBE]
#
# It needs chromium, node and pngquant; HEAPSCRIBE is the release build unless it is named.
set -euo pipefail
root=$(realpath "$(dirname "$0")/..")
heapscribe=$(realpath "${1:-$root/target/release/heapscribe}")
scratch=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$scratch"' EXIT

cp "$root/docs/programs/count.pl" /usr/share/common-licenses/*GPL-[0-9] "$scratch"
cd "$scratch"
"$heapscribe" record -q -o words.hst -- perl count.pl *GPL-[0-9] > /dev/null
"$heapscribe" view --no-open words.hst > address &
server=$!
until [ -s address ]; do
    kill -0 "$server"
    sleep 0.1
done
HEIGHT=900 node "$root/crates/viewer/tests/browser/screenshots.mjs" chromium "$scratch/profile" "$(cat address)" shots viewer= lifetimes=view=lifetimes
for picture in viewer lifetimes; do
    pngquant --force --quality 60-90 --strip --output "$root/docs/images/$picture.png" "shots/$picture-light.png"
done
