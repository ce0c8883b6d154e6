"""Does nothing but wait."""

import time

import portrait

portrait.tell()
while not portrait.over():
    time.sleep(0.2)
