"""Interpreters in odd places: renamed, deleted, replaced, in other namespaces,
inside another program.

In each the recorder must find the same program as anywhere."""

import glob
import json
import os
import shlex
import shutil
import struct
import subprocess

import growing
import live
from live import expect

TARGETS = os.path.join(live.SOURCE, "tests", "targets")


def sees_the_program(pid):
    live.succeed(live.PYREC, "-p", pid, "-o", "run.bin", "-d", 1, "-f")
    functions = {name for name, in live.Database("run.bin").rows(
        "SELECT qualname FROM function")}
    expect({"drive", "zużyj", "Worker.key"} <= functions, "functions %s",
           functions)


class Copy:
    """A copy of the machine's own interpreter, under another name, running."""

    def __init__(self):
        own = os.path.realpath("/usr/bin/python3")
        if not os.path.exists(own):
            raise live.Skip("the machine has no python3 of its own")
        if live.call(own, "-c", "import sys; sys.exit("
                     "sys.version_info[:2] < (3, 11))").returncode != 0:
            raise live.Skip("the machine's own python3 is older than 3.11")
        shutil.copy(own, "my server")
        self.target = live.Target("./my server", "plain.py",
                                  env=dict(os.environ, PYTHONHOME="/usr"))

    def __enter__(self):
        return self.target

    def __exit__(self, *_):
        self.target.end()
        if os.path.exists("my server"):
            os.unlink("my server")


@live.once
def an_interpreter_of_another_name_is_found():
    with Copy() as target:
        sees_the_program(target.pid)


@live.once
def an_interpreter_that_was_deleted_is_found():
    with Copy() as target:
        os.unlink("my server")
        sees_the_program(target.pid)


@live.once
def an_interpreter_that_was_replaced_is_found():
    with Copy() as target:
        shutil.copy("/bin/sh", "new")
        os.replace("new", "my server")
        sees_the_program(target.pid)


class Inside:
    """A target started by a command that changes its surroundings; its pid
    out here is that of the process whose pid inside is the published one."""

    def __init__(self, *command, **environment):
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE, start_new_session=True,
            env=dict(os.environ, LC_ALL="C", **environment))

    def __enter__(self):
        line = self.process.stdout.readline()
        if not line:
            reason = self.process.stderr.read().decode().strip()
            self.__exit__()
            raise live.Skip(reason.split("\n")[-1][:200])
        return self.pid_out_here(json.loads(line)["pid"])

    def pid_out_here(self, inside):
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/status" % name) as file:
                    status = dict(line.split(":", 1) for line in file)
            except (FileNotFoundError, ProcessLookupError):
                continue
            if status["NSpid"].split()[-1] == str(inside) and \
                    os.getsid(int(name)) == self.process.pid:
                return int(name)
        raise AssertionError("pid %d of inside is not out here" % inside)

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, 9)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()


def root_of(python):
    """The folder that a fetched interpreter takes for /."""
    prefix = live.succeed(python, "-c", "import sys; print(sys.prefix)").stdout
    version = live.succeed(
        python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])")
    root = os.path.dirname(prefix.strip())
    program = "usr/bin/python" + version.stdout.strip()
    if not os.path.exists(os.path.join(root, program)):
        raise live.Skip("this Python has no root of its own")
    return root, "/" + program


@live.each_python
def an_interpreter_in_another_mount_namespace_is_found(python):
    root, program = root_of(python)
    with Inside("bwrap", "--bind", root, "/", "--dev", "/dev", "--proc",
                "/proc", "--ro-bind", TARGETS, "/mnt", program,
                "/mnt/plain.py", "60") as pid:
        sees_the_program(pid)


@live.each_python
def an_interpreter_in_another_pid_namespace_is_found(python):
    root, program = root_of(python)
    with Inside("bwrap", "--unshare-pid", "--bind", root, "/", "--dev", "/dev",
                "--proc", "/proc", "--ro-bind", TARGETS, "/mnt", program,
                "/mnt/plain.py", "60") as pid:
        sees_the_program(pid)


@live.each_python
def an_interpreter_in_a_changed_root_is_found(python):
    root, program = root_of(python)
    script = 'mount --bind "$1" "$2/mnt" && exec chroot "$2" "$3" ' \
             "/mnt/plain.py 60"
    os.makedirs(os.path.join(root, "mnt"), exist_ok=True)
    with Inside("unshare", "--mount", "sh", "-c", script, "sh", TARGETS, root,
                program) as pid:
        sees_the_program(pid)


class Embedded:
    """A program that loads libpython, or several, and runs one of them."""

    def __init__(self, python, libraries):
        live.succeed(*shlex.split(os.environ.get("CC", "cc")), "-o", "host",
                     os.path.join(TARGETS, "host.c"), "-ldl")
        found = live.succeed(
            python, "-c", "import sys, sysconfig; v = sysconfig.get_config_var;"
            "print(sys.prefix, v('LIBDIR'), v('LDVERSION'), sep='\\n')")
        self.prefix, folder, version = found.stdout.split("\n")[:3]
        own = self.library(folder, "libpython%s.so.1.0" % version)
        shutil.copy(own, "copy.so")
        command = [*self.loader(), "./host",
                   *(own if which == "own" else "./copy.so"
                     for which in libraries),
                   "--", os.path.join(TARGETS, "plain.py"), "60"]
        self.target = Inside(*command, PYTHONHOME=self.prefix)

    def library(self, folder, name):
        """In its folder; or in that of the root the interpreter came from."""
        places = glob.glob(os.path.join(folder, name)) + glob.glob(
            os.path.join(self.prefix, "lib", "*-linux-gnu*", name))
        if not places:
            raise live.Skip("this Python has no libpython of its own")
        return places[0]

    def loader(self):
        """What starts a program on the libraries of a root."""
        libraries = glob.glob(os.path.join(self.prefix, "lib", "*-linux-gnu*"))
        loaders = [loader for folder in libraries
                   for loader in glob.glob(os.path.join(folder, "ld-linux-*"))]
        if self.prefix == "/usr" or not loaders:
            return []
        return [loaders[0], "--library-path", libraries[0]]

    def __enter__(self):
        return self.target.__enter__()

    def __exit__(self, *_):
        self.target.__exit__()


@live.each_python
def an_interpreter_inside_another_program_is_found(python):
    with Embedded(python, ["own"]) as pid:
        sees_the_program(pid)


@live.each_python
def of_two_libraries_the_one_with_an_interpreter_is_found(python):
    for libraries in ["copy", "own"], ["own", "copy"]:
        with Embedded(python, libraries) as pid:
            sees_the_program(pid)


@live.each_python
def a_library_that_was_deleted_is_found(python):
    with Embedded(python, ["copy"]) as pid:
        os.unlink("copy.so")
        sees_the_program(pid)


def without_names(path):
    """An ELF file without its section headers, and with other names for the
    symbols by which an interpreter is found."""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    for name in b"_PyRuntime", b"Py_Version", b"_Py_DebugOffsets":
        data = data.replace(b"\0" + name + b"\0", b"\0X" + name[1:] + b"\0")
    header, count = struct.unpack_from("<Q", data, 32)[0], \
        struct.unpack_from("<H", data, 56)[0]
    segments = [struct.unpack_from("<II6Q", data, header + 56 * i)
                for i in range(count)]
    end = max(offset + size for kind, _, offset, _, _, size, _, _ in segments
              if kind == 1)  # PT_LOAD
    struct.pack_into("<Q", data, 40, 0)
    struct.pack_into("<HHH", data, 58, 0, 0, 0)
    return data[:end]


@live.each_python
def an_interpreter_whose_file_names_nothing_is_found(python):
    root, program = "", live.succeed(
        python, "-c", "import sys; print(sys.executable)").stdout.strip()
    command, options = [], {}
    if not program.startswith("/usr/"):
        root, program = root_of(python)
        libraries = glob.glob(root + "/usr/lib/*-linux-gnu")[0]
        command = [glob.glob(libraries + "/ld-linux-*")[0], "--library-path",
                   libraries]
    data = without_names(root + os.path.realpath(root + program)[len(root):]
                         if root else os.path.realpath(program))
    if b"xdebugpy" not in data and b"3.11" not in data:
        raise live.Skip("the interpreter is a library of this Python")
    with open("server", "wb") as file:
        file.write(data)
    os.chmod("server", 0o755)
    with Inside(*command, "./server", os.path.join(TARGETS, "plain.py"), "60",
                PYTHONHOME=root + "/usr") as pid:
        done = live.succeed(live.PYREC, "--check", pid)
        version = live.succeed(python, "-c", "import platform; "
                               "print(platform.python_version())").stdout
        expect(version.strip() in done.stdout, "%s is stated as %s", version,
               done.stdout)
        sees_the_program(pid)


@live.each_python
def a_process_that_was_just_started_is_recorded_or_its_time_was_over(python):
    program = "import time\ndef nap():\n    time.sleep(60)\nnap()\n"
    for _ in range(5):
        process = subprocess.Popen([python, "-c", program])
        done = live.call(live.PYREC, "-p", process.pid, "-o", "run.bin", "-f",
                         "-d", 1)
        process.kill()
        process.wait()
        if done.returncode != 0:
            expect("before an interpreter ran" in done.stderr, "status %d: %s",
                   done.returncode, done.stderr)
            continue
        expect(live.header_samples("run.bin") > 0, "no samples: %s",
               done.stderr)


# kill, nice, ptrace, and those that reach files: linux/capability.h
NEEDED = sum(1 << bit for bit in (1, 2, 3, 5, 19, 23))
PTRACE = 1 << 19


def capabilities(path):
    """Permitted and effective ones, from a status file of /proc."""
    with open(path) as file:
        return [int(line.split()[1], 16) for line in file
                if line.startswith(("CapPrm:", "CapEff:"))]


@live.once
def a_recorder_keeps_no_capability_that_it_does_not_need():
    own = capabilities("/proc/self/status")[1]
    if not own & PTRACE or not own & ~NEEDED:
        raise live.Skip("the tests have no capabilities to give up")
    with live.Target(live.ANY_PYTHON, "plain.py") as target:
        recorder = subprocess.Popen(
            [live.PYREC, "-q", "-p", str(target.pid), "-o", "run.bin"])
        growing.wait_for_segments("run.bin", 1)
        kept = {path: capabilities(path) for path in
                glob.glob("/proc/%d/task/*/status" % recorder.pid)}
        recorder.terminate()
        expect(recorder.wait() == 0, "status %d", recorder.returncode)
    expect(len(kept) > 2, "threads %s", kept)
    for path, (permitted, effective) in kept.items():
        expect(permitted == effective == own & NEEDED, "%s: %x, %x", path,
               permitted, effective)


live.run()
