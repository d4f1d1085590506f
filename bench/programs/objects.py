"""Objects that come and go: records, their text as JSON and back, groups, a tree. With PYTHONMALLOC=malloc each
is a block of the heap."""
import json


class Node:
    def __init__(self, key):
        self.key, self.left, self.right, self.values = key, None, None, []


def random(state=[12345]):
    state[0] = (state[0] * 1103515245 + 12345) & 0x7FFFFFFF
    return state[0] >> 8


def insert(root, key, value):
    while root.key != key:
        side = "left" if key < root.key else "right"
        if getattr(root, side) is None:
            setattr(root, side, Node(key))
        root = getattr(root, side)
    root.values.append(value)


def records(n):
    return [{"id": i, "name": "n%d" % (random() % 5000), "at": [random() % 100 / 4, random() % 100], "tags": ["t%d" % (random() % 50) for _ in range(random() % 4)]} for i in range(n)]


total = 0
for turn in range(3):
    data = json.loads(json.dumps(records(12000)))
    root = Node(random() % 5000)
    for record in data:
        insert(root, int(record["name"][1:]), (record["id"], tuple(record["at"])))
    groups = {}
    for record in data:
        for tag in record["tags"]:
            groups.setdefault(tag, set()).add(record["name"].upper())
    lines = sorted("%s %s" % (tag, ",".join(sorted(names))) for tag, names in groups.items())
    total += sum(len(line) for line in lines) + len(root.values)
print(total)
