"""Tasks that await through asynchronous generators, many of one kind, and one
whose coroutine is an instance of a class; then the main task blocks its thread
in time.sleep(), while it runs."""

import asyncio
import collections.abc
import sys
import threading
import time

import portrait

if sys.version_info < (3, 14):
    sys.exit(77)

MANY = 200


async def agen():
    await asyncio.sleep(10_000)
    yield


async def agen_with_cleanup():
    try:
        yield
    finally:
        await asyncio.sleep(10_000)


async def outer_agen():
    async for _ in agen():
        yield


async def consumer(gen):
    async for _ in gen:
        pass


def never_called():
    pass


class Fake(collections.abc.Coroutine):
    """Not a coroutine object: its slots hold code objects, not a frame."""

    __slots__ = tuple("slot%02d" % i for i in range(40))

    def __init__(self, inner):
        for name in self.__slots__:
            setattr(self, name, never_called.__code__)
        self.slot39 = inner

    def send(self, value):
        return self.slot39.send(value) if value is not None else next(
            self.slot39)

    def throw(self, *error):
        return self.slot39.throw(*error)

    def close(self):
        pass

    def __await__(self):
        return self


def blocks():
    while not portrait.over():
        time.sleep(10)


async def main():
    suspended = agen_with_cleanup()
    await anext(suspended)
    future = asyncio.get_running_loop().create_future()
    tasks = [
        asyncio.create_task(consumer(agen()), name="async for"),
        asyncio.create_task(consumer(outer_agen()), name="nested async for"),
        asyncio.create_task(anext(agen()), name="anext"),
        asyncio.create_task(suspended.aclose(), name="aclose"),
        asyncio.create_task(Fake(iter(future.__await__())), name="fake")]
    tasks += [asyncio.create_task(anext(agen()), name="anext %d" % i)
              for i in range(MANY)]
    await asyncio.sleep(0)
    portrait.publish(tasks=sorted(task.get_name()
                               for task in asyncio.all_tasks()))
    blocks()


threading.Thread(target=blocks, name="idle", daemon=True).start()
asyncio.run(main())
