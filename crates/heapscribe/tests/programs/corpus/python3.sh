# The C library's heap for all objects, as small ones would otherwise not come to it.
PYTHONMALLOC=malloc PYTHONHASHSEED=0 exec python3 - <<'END'
import collections, hashlib, json, re, subprocess, sys, threading, zlib
def work(n):
    rows = [{"n": i, "name": "x" * (i % 50), "list": list(range(i % 40))} for i in range(1500)]
    results[n] = hashlib.md5(json.dumps(rows).encode()).hexdigest(), len(zlib.compress(json.dumps(rows).encode()))
results = {}
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
print(sorted(results.items()))
print(collections.Counter(re.findall("[a-z]+", subprocess.__doc__.lower())).most_common(10))
print(subprocess.run([sys.executable, "-c", "print(sum(map(len, map(str, range(20000)))))"], capture_output=True).stdout)
try:
    bytearray(1 << 50)
except MemoryError:
    print("no memory for that")
sys.exit(4)
END
