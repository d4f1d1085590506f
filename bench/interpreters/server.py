"""A service in flask that answers requests of flask's test client, so that there is no network: a page from a
template, JSON that is posted and JSON that is listed. Ends after so many rounds and prints a hash of the answers. With
`fresh` the template is compiled for each page, so that its code is new each time."""
import hashlib
import sys

from flask import Flask, jsonify, render_template, render_template_string, request, session
from jinja2 import DictLoader

app = Flask(__name__)
app.secret_key = "not secret"
PAGE = """<h1>{{ title }}</h1><ul>{% for item in items %}
<li class="{{ loop.cycle('odd', 'even') }}">{{ item.name|title }}: {{ '%.2f'|format(item.price) }}</li>{% endfor %}</ul>"""
IS_FRESH = sys.argv[2:] == ["fresh"]
app.jinja_loader = DictLoader({"page.html": PAGE})
ITEMS = [{"name": "item no %d" % i, "price": i * 7 % 100 / 3} for i in range(40)]


@app.route("/page/<int:number>")
def page(number):
    session["last"] = number
    values = {"title": "Page %d" % number, "items": ITEMS[number % 20 :]}
    return render_template_string(PAGE, **values) if IS_FRESH else render_template("page.html", **values)


@app.route("/orders", methods=["POST"])
def order():
    lines = request.get_json()["lines"]
    total = sum(ITEMS[line["item"]]["price"] * line["count"] for line in lines)
    return jsonify(total=round(total, 2), lines=[dict(line, name=ITEMS[line["item"]]["name"]) for line in lines])


@app.route("/search")
def search():
    word = request.args["word"]
    return jsonify([item for item in ITEMS if word in item["name"]])


def ask(client, i):
    lines = [{"item": (i + n) % len(ITEMS), "count": n + 1} for n in range(8)]
    yield client.get("/page/%d" % i)
    yield client.post("/orders", json={"lines": lines})
    yield client.get("/search?word=%d" % (i % 10))


answers = hashlib.sha256()
client = app.test_client()
for i in range(int(sys.argv[1])):
    for answer in ask(client, i):
        assert answer.status_code == 200, answer.status
        answers.update(answer.data)
print(answers.hexdigest())
