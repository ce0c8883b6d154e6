"""XXH64 with seed 0, from the algorithm's public description (xxHash fast
digest algorithm, revision 0.1.1)."""

import struct

P1 = 0x9E3779B185EBCA87
P2 = 0xC2B2AE3D27D4EB4F
P3 = 0x165667B19E3779F9
P4 = 0x85EBCA77C2B2AE63
P5 = 0x27D4EB2F165667C5
M = (1 << 64) - 1


def _rotl(x, r):
    return (x << r | x >> (64 - r)) & M


def _round(acc, lane):
    return _rotl((acc + lane * P2) & M, 31) * P1 & M


def _stripes(data):
    """The accumulator after all whole stripes of 32 bytes."""
    acc = [(P1 + P2) & M, P2, 0, -P1 & M]
    for at in range(0, len(data) - 31, 32):
        lanes = struct.unpack_from("<4Q", data, at)
        acc = [_round(a, lane) for a, lane in zip(acc, lanes)]
    h = sum(_rotl(a, r) for a, r in zip(acc, (1, 7, 12, 18))) & M
    for a in acc:
        h = ((h ^ _round(0, a)) * P1 + P4) & M
    return h


def xxh64(data):
    data = bytes(data)
    h = _stripes(data) if len(data) >= 32 else P5
    h = (h + len(data)) & M
    at = len(data) & ~31
    while at + 8 <= len(data):
        lane, = struct.unpack_from("<Q", data, at)
        h = (_rotl(h ^ _round(0, lane), 27) * P1 + P4) & M
        at += 8
    if at + 4 <= len(data):
        lane, = struct.unpack_from("<I", data, at)
        h = (_rotl(h ^ lane * P1 & M, 23) * P2 + P3) & M
        at += 4
    for byte in data[at:]:
        h = _rotl(h ^ byte * P5 & M, 11) * P1 & M
    for shift, prime in ((33, P2), (29, P3)):
        h = (h ^ h >> shift) * prime & M
    return h ^ h >> 32
