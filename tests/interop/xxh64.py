"""XXH64 with seed 0, from the algorithm's public description (xxHash fast
digest algorithm, revision 0.1.1)."""

import struct

PRIME1 = 0x9E3779B185EBCA87
PRIME2 = 0xC2B2AE3D27D4EB4F
PRIME3 = 0x165667B19E3779F9
PRIME4 = 0x85EBCA77C2B2AE63
PRIME5 = 0x27D4EB2F165667C5
M = (1 << 64) - 1


def _rotl(x, r):
    return (x << r | x >> (64 - r)) & M


def _round(acc, lane):
    return _rotl((acc + lane * PRIME2) & M, 31) * PRIME1 & M


def _stripes(data):
    """The accumulator after all whole stripes of 32 bytes."""
    acc = [(PRIME1 + PRIME2) & M, PRIME2, 0, -PRIME1 & M]
    for at in range(0, len(data) - 31, 32):
        lanes = struct.unpack_from("<4Q", data, at)
        acc = [_round(a, lane) for a, lane in zip(acc, lanes)]
    h = sum(_rotl(a, r) for a, r in zip(acc, (1, 7, 12, 18))) & M
    for a in acc:
        h = ((h ^ _round(0, a)) * PRIME1 + PRIME4) & M
    return h


def xxh64(data):
    data = bytes(data)
    h = _stripes(data) if len(data) >= 32 else PRIME5
    h = (h + len(data)) & M
    at = len(data) & ~31
    while at + 8 <= len(data):
        lane, = struct.unpack_from("<Q", data, at)
        h = (_rotl(h ^ _round(0, lane), 27) * PRIME1 + PRIME4) & M
        at += 8
    if at + 4 <= len(data):
        lane, = struct.unpack_from("<I", data, at)
        h = (_rotl(h ^ lane * PRIME1 & M, 23) * PRIME2 + PRIME3) & M
        at += 4
    for byte in data[at:]:
        h = _rotl(h ^ byte * PRIME5 & M, 11) * PRIME1 & M
    for shift, prime in ((33, PRIME2), (29, PRIME3)):
        h = (h ^ h >> shift) * prime & M
    return h ^ h >> 32
