"""What the programs of the oracle share: blocks of sizes that tell them apart, and who says what their frames are."""
import os

import oracle

if os.environ.get("ORACLE_BY") == "traceback":
    import python_traceback

count = 0


def tag():
    global count
    count += 1
    oracle.tag(5000 + count % 50000)
