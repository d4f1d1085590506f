"""until_end.py PROGRAM: runs a program and ends the process where it ends, before the interpreter frees what its modules
hold. memray's recording ends there, too, and so does a service that a signal ends."""
import os
import runpy
import sys

kept = runpy.run_path(sys.argv[1], run_name="__main__")
os._exit(0)
