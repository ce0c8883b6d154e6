#!/usr/bin/env python3
"""Damage of eight kinds, alone and together, to profiles of five kinds.

    test_mutations.py [SEED [COUNT]]

A segment is untouched if its bytes stand in the damaged file.  The library
emits the samples of all untouched segments and no others, calls nothing
finished but the files as they were written, and reports as many lost samples
as there are (R4, R6, spec/format.md 7.7).  The samples of each segment come
from the second decoder, of the whole file.  Each tenth damaged file goes to
the second decoder as well, each fiftieth to the programs.
"""

import collections
import concurrent.futures
import os
import random
import re
import subprocess
import sys
import tempfile

import decoder
import harness
import profiles

KINDS = (profiles.names, profiles.statuses, profiles.notes,
         profiles.processes, profiles.interpreters)
LOST_PLACE = (b"~", b"<lost>")
EXACT = re.compile(r"(at least )?(\d+) samples are lost")


# --- whole files


class Part:
    """A segment as it was written: its bytes, and its samples by thread."""

    def __init__(self, data, segment, samples):
        self.number = segment.number
        begin = segment.checkpoint.at - segment.checkpoint.data_len
        self.bytes = data[begin:segment.checkpoint.end]
        self.checkpoint = data[segment.checkpoint.at:segment.checkpoint.end]
        self.samples = samples


class Whole:
    """A file of the library's writer, and the samples of its segments."""

    def __init__(self, data):
        self.data = data
        read = decoder.Decoder(data, "<")
        self.profile = read.decode()
        self.parts = [Part(data, s, samples_of(read, s))
                      for s in read.segments]
        assert sum(len(p.samples) for p in self.parts) == \
            self.profile.samples()


def samples_of(read, segment):
    """[(thread, time, status, places)] of one segment; ids of a file without
    damage are the numbers by arrival."""
    emitted = []
    read.clock = {}
    read.read_records(segment, emitted)
    place = read.profile.place
    return [(read.keys[ref], time, status, tuple(map(place, stack)))
            for ref, stack, samples in emitted for time, status in samples]


def short(name, profile, count=60):
    """The first samples of few threads of the generated profile, without the
    longest names: a file of some kilobytes."""
    profile.strings = [s[:70] for s in profile.strings]
    keep = dict(list(profile.threads.items())[:4])
    for thread in keep.values():
        del thread.runs[count:]
    assert name != "processes" or len(keep) == 4
    profile.threads = keep
    profile.counts = {k: v for k, v in profile.counts.items()
                      if k[:-1] in keep or k[1] == harness.canon.PROCESS}
    profile.tasks = [t for t in profile.tasks
                     if t[2] in keep or t[2][1] == harness.canon.PROCESS]
    return profile


def write_wholes(seed, folder):
    """{name: Whole}: each kind finished and never finished."""
    wholes = {}
    for make in KINDS:
        profile = short(make.__name__, make(random.Random(
            f"{seed} {make.__name__}")))
        for end in ("finish", "abort"):
            name = f"{make.__name__} {end}"
            path = os.path.join(folder, name)
            status, why = harness.feed(profile, path, level=1, segment=500,
                                       end=end)
            assert status == 0, why
            with open(path, "rb") as file:
                wholes[name] = Whole(file.read())
    return wholes


# --- damage


def span_of(rnd, data):
    """[begin, end), mostly short."""
    size = rnd.choice((1, 2, 8, 60, 500, len(data) // 3))
    begin = rnd.randrange(len(data) + 1)
    return begin, min(begin + rnd.randrange(1, size + 2), len(data))


def flip(rnd, data, _):
    for _ in range(rnd.choice((1, 1, 2, 9))):
        if data:
            data[rnd.randrange(len(data))] ^= 1 << rnd.randrange(8)
    return data


def set_bytes(rnd, data, _):
    begin, end = span_of(rnd, data)
    data[begin:end] = rnd.randbytes(end - begin)
    return data


def cut(rnd, data, _):
    return data[:rnd.randrange(len(data) + 1)]


def hole(rnd, data, _):
    begin, end = rnd.choice((span_of(rnd, data), (0, span_of(rnd, data)[1])))
    data[begin:end] = bytes(end - begin)
    return data


def insert(rnd, data, _):
    at = rnd.randrange(len(data) + 1)
    data[at:at] = rnd.choice((bytes, rnd.randbytes))(rnd.randrange(1, 200))
    return data


def delete(rnd, data, _):
    begin, end = rnd.choice((span_of(rnd, data), (0, 64)))
    del data[begin:end]
    return data


def swap(rnd, data, _):
    a, b, c = sorted(rnd.randrange(len(data) + 1) for _ in range(3))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


def join(rnd, data, other):
    """A beginning of one file and an end of another, or whole files."""
    first = rnd.choice((len(data), rnd.randrange(len(data) + 1)))
    second = rnd.choice((0, rnd.randrange(len(other) + 1)))
    return data[:first] + other[second:]


MUTATIONS = (flip, set_bytes, cut, hole, insert, delete, swap, join)


def damage(rnd, wholes):
    """(words, the files that it was made of, bytes)"""
    name = rnd.choice(sorted(wholes))
    other = rnd.choice([w for w in sorted(wholes)
                        if w.split()[0] != name.split()[0]])
    data, words, sources = bytearray(wholes[name].data), [name], [name]
    for _ in range(rnd.choice((1, 1, 1, 2, 3))):
        mutation = rnd.choice(MUTATIONS)
        data = bytearray(mutation(rnd, data, wholes[other].data))
        words.append(mutation.__name__)
        if mutation is join and other not in sources:
            words.append(other)
            sources.append(other)
    return " ".join(words), [wholes[s] for s in sources], bytes(data)


# --- the truth


def family_of(data, sources):
    """The file of the first checkpoint that stands in `data`."""
    first = {}
    for whole in sources:
        places = [data.find(p.checkpoint) for p in whole.parts]
        places = [place for place in places if place >= 0]
        if places:
            first[min(places)] = whole
    return first[min(first)] if first else None


def untouched(data, whole):
    return [p for p in whole.parts if p.bytes in data]


def same_place(have, want, complete):
    """Names and the first line may be lost with a checkpoint."""
    if have == want or complete:
        return have == want
    return have[:2] == LOST_PLACE or (
        have[0] in (want[0], b"~") and have[1] in (want[1], b"<lost>") and
        have[2:6] == want[2:6] and have[6] in (want[6], 0) and
        have[7] == want[7])


def same_sample(have, want, complete):
    return have[:3] == want[:3] and len(have[3]) == len(want[3]) and all(
        same_place(x, y, complete) for x, y in zip(have[3], want[3]))


def by_meaning(sample):
    return sample[:3]


def lost_frames(sample):
    return sum(place[:2] == LOST_PLACE for place in sample[3])


def compare(profile, parts, complete):
    """The first sample that differs, or None."""
    want = [s for p in parts for s in p.samples]
    have = [(key, *sample) for key, samples in
            (profile.observed(True) if profile else {}).items()
            for sample in samples]
    if not complete:  # the identity of a thread may be lost as well
        want = [((0, 0), *s[1:]) for s in want]
        have = [((0, 0), *s[1:]) for s in have]
    if len(have) != len(want):
        return f"{len(have)} samples, and {len(want)} stand in the file"
    left = collections.defaultdict(list)
    for sample in want:
        left[by_meaning(sample)].append(sample)
    for x in sorted(have, key=lost_frames):
        same = [y for y in left[by_meaning(x)] if same_sample(x, y, complete)]
        if not same:
            return f"{str(x)[:300]} does not stand in the file"
        left[by_meaning(x)].remove(same[0])
    return None


def check_loss(why, lost):
    """7.7: no more and no less than were lost."""
    said = EXACT.search(why)
    if "no sample is lost" in why:
        return None if lost == 0 else f"{lost} are lost"
    if not said:
        return None
    least, count = said[1], int(said[2])
    good = count <= lost if least else count == lost
    return None if good else f"{lost} are lost"


def judge(data, sources, path, second, programs):
    """(state, fault or None)"""
    with open(path, "wb") as file:
        file.write(data)
    state, profile, why = harness.dump(path)
    if state not in ("finished", "cut", "damaged", "foreign", "newer"):
        return state, why
    if state == "finished":
        whole = [s for s in sources if s.data == data]
        return state, None if whole else "called finished"
    if second:
        other = harness.decode(path)
        if (other[0], other[1] and other[1].json()) != \
                (state, profile and profile.json()):
            return state, f"the decoder differs: {other[0]} {other[2]} {why}"
    whole = family_of(data, sources) if len(data) >= 64 else None
    parts = untouched(data, whole) if whole else []
    complete = whole and all(p.checkpoint in data for p in whole.parts)
    fault = compare(profile, parts, complete)
    if not fault and programs and profile and profile.samples():
        fault = check_programs(path, state, profile)
    if not fault and len(sources) == 1 and profile:
        kept = sum(len(p.samples) for p in parts)
        fault = check_loss(why, sources[0].profile.samples() - kept)
    return state, fault and f"{fault}: {why}"


# --- the programs


def program(name, *words):
    done = subprocess.run([os.path.join(harness.BIN, name), *words],
                          capture_output=True, text=True, check=False,
                          env=harness.ENVIRONMENT, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def lost_samples(profile):
    key = *harness.canon.NO_THREAD, decoder.LOST_SAMPLES
    return profile.counts.get(key, [(0, 0)])[-1][1]


def check_programs(path, state, profile):
    """--info, --verify, --to bin and pyquery give the answer of the library,
    of a file of which some samples are left; a fault or None."""
    samples = profile.samples()
    status, text, _ = program("pyconv", "--info", path)
    if status != 3 or not re.search(rf"^state +{state}$", text, re.M) or \
            not re.search(rf"^samples read +{samples}$", text, re.M):
        return f"--info {status} {text}"
    status, _, words = program("pyconv", "--verify", path)
    if status == 0 or not words:
        return f"--verify {status}"
    out = path + ".out"
    status, _, words = program("pyconv", path, "--to", "bin", "-o", out)
    made = harness.dump(out)[1] if status == 3 else None
    if os.path.exists(out):
        os.unlink(out)
    if not made or made.observed(True) != profile.observed(True) or \
            made.meta != profile.meta or \
            lost_samples(made) != lost_samples(profile):
        return f"--to bin {status} {words}"
    status, text, words = program("pyquery", path, "top 1")
    if status != 3 or f" {samples} samples," not in text:
        return f"pyquery {status} {text} {words}"
    return None


def run(seed, count):
    """([faults], the states)"""
    states, faults = collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        wholes = write_wholes(seed, folder)

        def one(number):
            rnd = random.Random(f"{seed} {number}")
            words, sources, data = damage(rnd, wholes)
            path = os.path.join(folder, f"{number}.bin")
            answer = judge(data, sources, path, number % 10 == 0,
                           number % 50 == 0)
            os.unlink(path)
            return words, *answer

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for number, (words, state, fault) in enumerate(
                    pool.map(one, range(count))):
                states[state] += 1
                if fault:
                    faults.append(f"{number}, {words}, {state}: {fault}")
    return faults, states


def main(seed, count):
    print(f"# seed {seed}")
    results = harness.Results()
    faults, states = run(seed, count)
    results.check(f"{count} mutations: {dict(sorted(states.items()))}",
                  not faults and len(states) > 2,
                  f"{len(faults)} faults\n" + "\n".join(faults[:20]))
    results.exit()


if __name__ == "__main__":
    # one seed for all runs: a new one is a hunt, this is a check
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20261130,
         int(sys.argv[2]) if len(sys.argv) > 2 else 2000)
