"""Threads that start and end all the time beside one that stays."""

import threading

import portrait


def short():
    sum(range(200))


def long():
    while not portrait.over():
        pass


def main():
    stays = threading.Thread(target=long, name="stays", daemon=True)
    stays.start()
    portrait.publish(stays=stays.native_id)
    while not portrait.over():
        thread = threading.Thread(target=short)
        thread.start()
        thread.join()


main()
