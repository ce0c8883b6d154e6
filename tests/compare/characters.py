"""Programs of four characters with a fixed amount of work.

usage: characters.py steady|phased|server|allocating [FUNCTION=FACTOR] [WORK]

FUNCTION does FACTOR times its work, as in a build that made it slower; WORK is
a factor of all.  The requests of the server come in an order and with waits
that differ from run to run, as they do in real ones; everything else is the
same each time.
"""

import json
import random
import sys
import time

SLOWER, FACTOR = None, 1.0
WORK = 1.0
for argument in sys.argv[2:]:
    if "=" in argument:
        SLOWER, FACTOR = argument.split("=")
        FACTOR = float(FACTOR)
    else:
        WORK = float(argument)


def rounds(function, n):
    """How many rounds of its loop a function makes."""
    return int(n * (FACTOR if function == SLOWER else 1.0))


# Work of different kinds, each in functions of its own name.

def add_numbers(n):
    total = 0
    for i in range(rounds("add_numbers", n)):
        total += i ^ 3
    return total


def mix_bits(n):
    value = 1
    for i in range(rounds("mix_bits", n)):
        value = (value * 1103515245 + i) & 0x7fffffff
    return value


def multiply_floats(n):
    value = 1.0
    for i in range(rounds("multiply_floats", n)):
        value = value * 1.0000001 + i * 1e-9
    return value


def count_words(n):
    counts = {}
    for i in range(rounds("count_words", n)):
        word = WORDS[i % len(WORDS)]
        counts[word] = counts.get(word, 0) + 1
    return counts


def join_strings(n):
    parts = []
    for i in range(rounds("join_strings", n)):
        parts.append(WORDS[i % len(WORDS)])
        if len(parts) == 40:
            parts = [",".join(parts)[:20]]
    return parts


def split_strings(n):
    total = 0
    for i in range(rounds("split_strings", n // 8)):
        total += len(LINE.split(","))
    return total


def sort_numbers(n):
    for i in range(rounds("sort_numbers", n // 60)):
        sorted(NUMBERS, key=negative)


def negative(x):
    return -x


def walk_tree(n):
    for i in range(rounds("walk_tree", n // 64)):
        visit(6)


def visit(depth):
    if depth:
        visit(depth - 1)
        visit(depth - 1)


def parse_json(n):
    for i in range(rounds("parse_json", n // 40)):
        json.loads(TEXT)


def dump_json(n):
    for i in range(rounds("dump_json", n // 40)):
        json.dumps(RECORD)


def compare_items(n):
    hits = 0
    for i in range(rounds("compare_items", n)):
        if NUMBERS[i % 50] < NUMBERS[(i * 7) % 50]:
            hits += 1
    return hits


def slice_lists(n):
    for i in range(rounds("slice_lists", n)):
        part = NUMBERS[i % 10:i % 10 + 20]
    return part


class Node:
    def __init__(self, value, other):
        self.value = value
        self.other = other


def make_nodes(n):
    last = None
    for i in range(rounds("make_nodes", n)):
        last = Node(i, last if i % 50 else None)
    return last


def make_cycles(n):
    for i in range(rounds("make_cycles", n)):
        one = Node(i, None)
        one.other = Node(i, one)


def make_dicts(n):
    kept = []
    for i in range(rounds("make_dicts", n)):
        kept.append({"id": i, "name": WORDS[i % len(WORDS)]})
        if len(kept) > 2000:
            kept = kept[1000:]
    return kept


def make_lists(n):
    kept = []
    for i in range(rounds("make_lists", n)):
        kept.append([i, i + 1, i + 2])
        if len(kept) > 5000:
            kept = kept[2500:]
    return kept


def make_texts(n):
    kept = []
    for i in range(rounds("make_texts", n)):
        kept.append("%d %s" % (i, WORDS[i % len(WORDS)]))
        if len(kept) > 3000:
            kept = []
    return kept


WORDS = ["apple", "pear", "plum", "cherry", "fig", "lime", "date"]
NUMBERS = [(i * 7919) % 1000 for i in range(60)]
LINE = ",".join(WORDS * 4)
RECORD = {"id": 7, "names": WORDS, "price": 3.5, "more": {"a": [1, 2, 3]}}
TEXT = json.dumps(RECORD)


def steady():
    for _ in range(int(60 * WORK)):
        add_numbers(60000)
        mix_bits(40000)
        multiply_floats(40000)
        count_words(20000)
        join_strings(15000)
        compare_items(15000)
        slice_lists(10000)
        walk_tree(10000)
        split_strings(8000)
        sort_numbers(5000)
        parse_json(3000)
        dump_json(3000)


def load():
    for _ in range(int(25 * WORK)):
        parse_json(25000)
        split_strings(40000)
        count_words(40000)


def compute():
    for _ in range(int(30 * WORK)):
        multiply_floats(90000)
        sort_numbers(30000)
        compare_items(40000)
        mix_bits(30000)


def write():
    with open("/dev/null", "w", encoding="utf-8") as file:
        for _ in range(int(20 * WORK)):
            dump_json(20000)
            file.writelines(join_strings(50000))


def phased():
    load()
    compute()
    write()


def get_page():
    parse_json(1500)
    count_words(2500)
    join_strings(2500)


def get_list():
    sort_numbers(2500)
    slice_lists(2500)
    dump_json(1500)


def post_order():
    add_numbers(8000)
    mix_bits(3000)
    dump_json(800)


def search():
    compare_items(9000)
    split_strings(6000)
    walk_tree(3000)


def await_database():
    time.sleep(random.expovariate(1000))


def server():
    handlers = [get_page] * 4 + [get_list] * 2 + [post_order] * 3 + [search]
    for _ in range(int(800 * WORK)):
        await_database()
        random.choice(handlers)()


def allocating():
    for _ in range(int(30 * WORK)):
        make_nodes(25000)
        make_cycles(10000)
        make_dicts(25000)
        make_lists(25000)
        make_texts(15000)
        join_strings(20000)
        count_words(15000)
        add_numbers(20000)


{"steady": steady, "phased": phased, "server": server,
 "allocating": allocating}[sys.argv[1]]()
