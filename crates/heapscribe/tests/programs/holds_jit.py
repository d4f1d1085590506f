"""Keeps memory until there is a file `end`, and says its pid in `holds` once it does."""
import os
import time

kept = []


def load_order(n):
    kept.append(bytearray(20000 + n))


def serve(times):
    for i in range(times):
        load_order(i % 7)


serve(200)
with open("holds.part", "w") as file:
    file.write(str(os.getpid()))
os.rename("holds.part", "holds")
while not os.path.exists("end"):
    time.sleep(0.01)
