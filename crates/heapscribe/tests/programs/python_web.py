import http.server, threading, urllib.request

CACHE = {}

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = self.render(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def render(self, path):
        page = ("<html>" + path * 200).encode()
        CACHE[path] = bytearray(page)
        return page

    def log_message(self, *args):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
thread = threading.Thread(target=server.serve_forever)
thread.start()
for i in range(400):
    urllib.request.urlopen("http://127.0.0.1:%d/page-%d" % (server.server_port, i)).read()
server.shutdown()
thread.join()
import os
os._exit(0)
