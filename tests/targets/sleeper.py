"""Does nothing but wait."""

import time

import portrait

portrait.publish()
while not portrait.over():
    time.sleep(0.2)
