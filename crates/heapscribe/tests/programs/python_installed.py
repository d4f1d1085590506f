"""Keeps columns of an installed package, which is compiled: each is asked for at line 12."""
import ctypes
import sys

package = ctypes.CDLL(sys.argv[1])
package.new_column.restype = ctypes.c_void_p
package.new_column.argtypes = [ctypes.c_size_t]
kept = []

def load(count):
    for number in range(count):
        kept.append(package.new_column(10_000 + number))

def main():
    load(100)
    load(300)

main()
