"""Threads in different states: one computes, one sleeps, one sleeps while it
handles an exception; the main thread sleeps."""

import threading
import time

import portrait


def busy():
    while not portrait.over():
        sum(range(1000))


def idle():
    time.sleep(60)


def handler():
    try:
        raise ValueError
    except ValueError:
        time.sleep(60)


for function in busy, idle, handler:
    threading.Thread(target=function, name=function.__name__,
                     daemon=True).start()
portrait.publish()
time.sleep(60)
