"""asyncio tasks that stand still, one that runs, and how they hang together.

    main -> gather -> shared <- also waits for it <- main's group
"""

import asyncio
import sys
import threading

import portrait

if sys.version_info < (3, 14):
    sys.exit(77)

DEPTH = 200
left_over = []


async def innermost(event):
    await event.wait()


async def middle(event):
    await innermost(event)


async def waits(event):
    await middle(event)


async def joins(task):
    await task


async def deep(n, event):
    if n:
        await deep(n - 1, event)
    else:
        await event.wait()


def spin():
    while not portrait.over():
        pass


async def spins():
    await asyncio.sleep(0)
    spin()


async def unfinished():
    await asyncio.get_running_loop().create_future()


def leave_a_task_behind():
    loop = asyncio.new_event_loop()
    left_over.append(loop)
    left_over.append(loop.create_task(unfinished(), name="left over"))
    loop.run_until_complete(asyncio.sleep(0))


async def main():
    event = asyncio.Event()
    shared = asyncio.create_task(waits(event), name="shared")
    tasks = [shared,
             asyncio.create_task(joins(shared), name="first"),
             asyncio.create_task(joins(shared), name="second \udcff"),
             asyncio.create_task(deep(DEPTH, event), name="deep"),
             asyncio.create_task(unfinished())]
    await asyncio.sleep(0)
    thread = threading.Thread(target=leave_a_task_behind)
    thread.start()
    thread.join()
    runner = asyncio.create_task(spins(), name="runner")
    await asyncio.sleep(0)
    portrait.publish(unnamed=tasks[4].get_name(), depth=DEPTH)
    await runner


asyncio.run(main())
