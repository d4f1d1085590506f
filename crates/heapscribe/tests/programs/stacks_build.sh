#!/bin/sh
# Builds a program of the stack torture (flow, signals, fibers or code) as DIRECTORY/stacks, and what it loads:
#     sh stacks_build.sh DIRECTORY NAME
# Called with the name of one of its parts and the four libraries it runs the part, called with nothing it
# prints the names of its parts.
set -e
out=$1 name=$2
cd "$(dirname "$0")"
common="-O1 -g -w -fno-builtin -pthread"
cc $common -c -fno-omit-frame-pointer -DTABLE=shapes_fp stacks_shapes.c -o "$out/shapes_fp.o"
cc $common -c -O2 -fomit-frame-pointer -DNO_FRAME_POINTER -DTABLE=shapes_sp stacks_shapes.c -o "$out/shapes_sp.o"
cc $common -c stacks_common.c -o "$out/common.o"
cc $common -c stacks_asm.S -o "$out/asm.o"
objects="$out/shapes_fp.o $out/shapes_sp.o $out/common.o $out/asm.o"
if [ -e "stacks_$name.cpp" ]; then
    c++ $common $objects "stacks_$name.cpp" -o "$out/stacks"
else
    cc $common $objects "stacks_$name.c" -o "$out/stacks"
fi
cc $common -shared -fPIC -DFRAME=5000 stacks_plugin.c -o "$out/first.so"
cc $common -shared -fPIC -DFRAME=5600 stacks_plugin.c -o "$out/second.so"
cc $common -shared -fPIC -Wl,-z,lazy stacks_lazy.c -o "$out/lazy.so"
cc $common -shared -fPIC stacks_other.c -o "$out/other.so"
