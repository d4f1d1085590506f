"""A flight recorder for the heap of Linux programs.

The program is beside Python's other programs: `heapscribe record -- python3 app.py`. This package finds it, and
has the plugin for pytest.
"""

import os
import shutil
import sysconfig


def program():
    """The path of the program: what HEAPSCRIBE names, that of this installation, or the first one in PATH."""
    named = os.environ.get("HEAPSCRIBE")
    if named:
        return named
    own = os.path.join(sysconfig.get_path("scripts"), "heapscribe")
    if os.access(own, os.X_OK):
        return own
    found = shutil.which("heapscribe")
    if found is None:
        raise FileNotFoundError(f"heapscribe is neither in {os.path.dirname(own)} nor in PATH")
    return found
