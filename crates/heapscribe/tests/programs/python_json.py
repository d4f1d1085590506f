"""Keeps what it has parsed, at line 7; the blocks are asked for by C code of Python's own."""
import json

def load(count):
    texts = []
    for number in range(count):
        texts.append(json.loads('"%s"' % ("x" * (2000 + number))))
    return texts

kept = load(1000)
