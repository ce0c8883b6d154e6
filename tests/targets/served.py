"""Work for the workers of servers: two functions in a known proportion, by the
clock of the thread that runs them.  As WSGI, ASGI and celery application, as a
pool of spawned processes and alone.

A request works for SECONDS and answers {"pid", "heavy", "light"} in seconds.  A
file in the folder SERVED_AT_WORK, named by the pid, says that it has begun.
"""

import json
import os
import sys
import time

SECONDS = float(os.environ.get("SERVED_SECONDS", "4"))


def heavy():
    for _ in range(6000):
        pass


def light():
    for _ in range(4000):
        pass


def work(first=heavy, second=light):
    clock = time.thread_time
    spent = [0.0, 0.0]
    open(os.path.join(os.environ["SERVED_AT_WORK"], str(os.getpid())),
         "w").close()
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        begin = clock()
        first()
        middle = clock()
        second()
        spent[0] += middle - begin
        spent[1] += clock() - middle
    return {"pid": os.getpid(), "heavy": spent[0], "light": spent[1]}


def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps(work()).encode()]


async def asgi(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body",
                "body": json.dumps(work()).encode()})


def pooled(_):
    return work()


def pool(processes):
    import multiprocessing
    with multiprocessing.get_context("spawn").Pool(processes) as workers:
        for answer in workers.imap_unordered(pooled, range(processes), 1):
            print(json.dumps(answer), flush=True)


def arrays():
    import numpy
    small, large = numpy.arange(20000.0), numpy.arange(60000.0)

    def heavy():
        return numpy.sqrt(large).sum()

    def light():
        return numpy.sqrt(small).sum()

    print(json.dumps(work(heavy, light)), flush=True)


def celery():
    """A celery application with folders as its broker."""
    import celery as library
    folder = os.environ["SERVED_BROKER"]
    app = library.Celery("served", broker="filesystem://")
    app.conf.broker_transport_options = {
        "data_folder_in": folder, "data_folder_out": folder}
    app.conf.worker_prefetch_multiplier = 1

    @app.task(name="served.burn")
    def burn():
        answer = work()
        path = os.path.join(folder, "%d.answer" % answer["pid"])
        with open(path + ".new", "w") as file:
            json.dump(answer, file)
        os.rename(path + ".new", path)

    return app


if "SERVED_BROKER" in os.environ:
    app = celery()

if __name__ == "__main__":
    {"pool": lambda: pool(2), "arrays": arrays}[sys.argv[1]]()
