"""Functions and files with names that no file format likes.

They call each other in order; all stand on the stack together.
"""

import portrait

NAMES = [
    "semi;colon", "space 12", "new\nline", "tab\tstop", "carriage\rreturn",
    "</script><b>", "quotes\"'\\", "żółw_前", "emoji\U0001f600",
    "surrogate\udcff", "", "a" * 300, "b" * 5000, "nul\x00byte", "%s%n%d",
    "call (file:1)", "right\u202eleft", "last",
]
FILES = [
    "/srv/a;b.py", "/srv/bytes\udce9.py", "<string>", "",
    "/srv/" + "d" * 3000 + ".py", "C:\\x\\y.py", "/srv/new\nline.py",
]
SOURCE = """\
def call(rest):
    if rest:
        return rest[0](rest[1:])
    while not over():
        pass
"""


def named(name, file):
    space = {"over": portrait.over}
    exec(compile(SOURCE, file, "exec"), space)
    call = space["call"]
    call.__code__ = call.__code__.replace(co_name=name, co_qualname=name)
    return call


def main():
    calls = [named(name, FILES[i % len(FILES)])
             for i, name in enumerate(NAMES)]
    portrait.publish(names=NAMES, files=FILES)
    calls[0](calls[1:])


main()
