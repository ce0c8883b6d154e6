"""Imports the same modules again and again: imports.py SECONDS.

Code objects are freed and others made at their addresses all the time.
"""

import importlib
import sys

import portrait

NAMES = ("argparse", "ast", "dataclasses", "dis", "gettext", "inspect", "json",
         "json.decoder", "json.encoder", "json.scanner", "textwrap")

portrait.publish()
while not portrait.over():
    for name in NAMES:
        sys.modules.pop(name, None)
    for name in NAMES:
        importlib.import_module(name)
