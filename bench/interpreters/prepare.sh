#!/bin/sh
# prepare.sh DIR: puts into DIR what the programs of this folder need: a Python environment of Debian's python3 with the
# versions of requirements.txt (pip), and the files that they read. What is there already is left as it is.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
if ! cmp -s "$here/requirements.txt" venv/requirements.txt; then
    rm -rf venv
    /usr/bin/python3 -m venv venv
    venv/bin/pip install -q -r "$here/requirements.txt"
    cp "$here/requirements.txt" venv/
fi
if ! cmp -s "$here/inputs.py" inputs.py; then
    venv/bin/python3 "$here/inputs.py" .
    cp "$here/inputs.py" inputs.py
fi
