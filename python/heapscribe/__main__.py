"""`python3 -m heapscribe ARGUMENTS`: the program itself."""

import os
import sys

from . import program

path = program()
os.execv(path, [path, *sys.argv[1:]])
