"""A service in flask whose handler keeps a copy of each page that it has made, 16 MB in the end, and which exports all
rows once, 48 MB for a moment. The test client asks; there is no network."""
from flask import Flask, render_template
from jinja2 import DictLoader

app = Flask(__name__)
PAGE = "<h1>{{ n }}</h1><ul>{% for i in range(60) %}<li>item {{ n }} {{ i }} of this page and of no other</li>{% endfor %}</ul>"
app.jinja_loader = DictLoader({"page.html": PAGE})
PAGES = {}


@app.route("/page/<int:n>")
def page(n):
    text = render_template("page.html", n=n)
    PAGES[n] = text.encode() * 2  # LEAK
    return text


@app.route("/export")
def export():
    return b"row of the export\n" * (48_000_000 // 18)  # PEAK


client = app.test_client()
for n in range(2600):
    assert client.get("/page/%d" % n).status_code == 200
    if n == 1300:
        assert len(client.get("/export").data) > 40_000_000
