"""memray_stacks.py FILE DIRECTORY: what memray's own reader has of a recording's leak and peak, as JSON: all bytes, and rows of
bytes and frames (function, file, line): the innermost one, and the innermost one in a source below DIRECTORY. Whole stacks
are not written: with each object traced they are gigabytes."""
import json
import sys
from collections import Counter

import memray


def rows(records):
    total, by_frames = 0, Counter()
    for record in records:
        frames = record.hybrid_stack_trace()
        own = next((frame for frame in frames if frame[1].startswith(sys.argv[2])), None)
        total += record.size
        by_frames[(frames[0] if frames else None, own)] += record.size
    return [total, [[size, [frame for frame in frames if frame]] for frames, size in by_frames.items()]]


reader = memray.FileReader(sys.argv[1])
leak = rows(reader.get_leaked_allocation_records(merge_threads=True))
peak = rows(reader.get_high_watermark_allocation_records(merge_threads=True))
json.dump({"leak": leak, "peak": peak}, sys.stdout)
