# Two workers, a reload in between, files large and small, compressed and not.
mkdir -p www temp
seq 100000 > www/large.txt; i=0; while [ $i -lt 50 ]; do seq $i > www/$i.html; i=$((i + 1)); done
cat > nginx.conf <<END
worker_processes 2; pid $PWD/nginx.pid; error_log $PWD/error.log crit; daemon off;
events { worker_connections 128; }
http { access_log off; gzip on; gzip_types *; client_body_temp_path temp; proxy_temp_path temp; fastcgi_temp_path temp;
  uwsgi_temp_path temp; scgi_temp_path temp;
  server { listen unix:$PWD/socket; root $PWD/www; autoindex on;
    location /echo { return 200 "\$request_uri \$http_accept_encoding\\n"; } } }
END
nginx -p "$PWD" -c nginx.conf & server=$!
LD_PRELOAD= python3 - "$server" <<'END'
import hashlib, os, signal, socket, sys, threading, time, zlib
def get(path, encoding=""):
    s = socket.socket(socket.AF_UNIX)
    s.connect("socket")
    s.sendall(f"GET {path} HTTP/1.0\r\nAccept-Encoding: {encoding}\r\n\r\n".encode())
    data = b"".join(iter(lambda: s.recv(65536), b""))
    head, _, body = data.partition(b"\r\n\r\n")
    return head.split(b"\r\n")[0], zlib.decompress(body, 47) if b"gzip" in head else body
for _ in range(1200):
    try:
        get("/")
        break
    except OSError:
        time.sleep(0.05)
results = {}
def many(n):
    done = hashlib.md5()
    for i in range(150):
        done.update(repr(get(f"/{i % 50}.html", "gzip" if i % 2 else "")).encode())
    results[n] = done.hexdigest(), get("/missing")[0], get(f"/echo?{n}"), hashlib.md5(get("/large.txt", "gzip")[1]).hexdigest()
for again in range(2):
    threads = [threading.Thread(target=many, args=(n,)) for n in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    print(sorted(results.items()))
    os.kill(int(open("nginx.pid").read()), signal.SIGHUP)
    time.sleep(0.3)
os.kill(int(open("nginx.pid").read()), signal.SIGQUIT)
END
wait $server; echo "nginx ended with $?"
cat error.log
