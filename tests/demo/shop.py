"""A program to be recorded: a shop that counts what it sells.

usage: shop.py [SECONDS]

One thread makes orders and another one bills them, for five seconds or as many
as are given.
"""

import json
import queue
import random
import sys
import threading
import time

ARTICLES = ["tea", "coffee", "żurek", "rye bread", "plum cake"]


def random_order(chance):
    lines = [{"article": chance.choice(ARTICLES), "n": chance.randint(1, 9),
              "price": chance.randint(100, 2000)} for _ in range(20)]
    return {"customer": chance.randint(1, 10000), "lines": lines}


def take_orders(orders):
    chance = random.Random(1)
    while True:
        orders.put(json.dumps(random_order(chance)))


def total(order):
    return sum(line["n"] * line["price"] for line in order["lines"])


def discount(order, turnover):
    spent = turnover.get(order["customer"], 0)
    rate = 0
    while spent > 0 and rate < 50:
        spent -= 5000
        rate += 1
    return rate


def bill(orders, turnover):
    order = json.loads(orders.get())
    price = total(order) * (100 - discount(order, turnover)) // 100
    customer = order["customer"]
    turnover[customer] = turnover.get(customer, 0) + price


def main():
    end = time.monotonic() + float(sys.argv[1] if sys.argv[1:] else 5)
    orders = queue.Queue(maxsize=100)
    threading.Thread(target=take_orders, args=(orders,), name="orders",
                     daemon=True).start()
    turnover = {}
    while time.monotonic() < end:
        bill(orders, turnover)


main()
