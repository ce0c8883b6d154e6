#!/usr/bin/env python3
"""spec/compare.md, 3 and 7, by numpy and scipy, against the library's answers.

    test_statistics.py [SEED]
"""

import os
import subprocess
import sys

import numpy as np
from scipy import stats

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../interop"))

import harness  # noqa: E402

CENTRED, SECONDS, SHARE = range(3)
INCONCLUSIVE, SAME, WORSE, BETTER, NEW, GONE = range(6)
INTERVAL = 1000


def library(text):
    done = subprocess.run([harness.tool("compare")], input=text, text=True,
                          capture_output=True, check=True)
    return [[float(word) for word in line.split()]
            for line in done.stdout.splitlines()]


# ---- the specification, once more ----

def references(samples, k):
    """Which functions make the centre; none if they are too few."""
    n = samples[:, :k].mean(axis=1)
    if samples.shape[1] == 2:
        chosen = samples.min(axis=1) >= 100
    else:
        order = np.sort(n[n >= 20])
        chosen = n >= (min(order[-5], 50) if len(order) >= 5 else 50)
    return chosen & (chosen.sum() >= 5)


def scaled(y, reference, scale, whole):
    """(values on the scale, common factors, the scale that was possible)"""
    if reference.any():
        own = y[reference]
        factor = np.median(own - own.mean(axis=1, keepdims=True), axis=0)
    else:
        factor = np.log(np.maximum(whole, 1))
        scale = SECONDS if scale == CENTRED else scale
    by = {CENTRED: factor, SECONDS: 0,
          SHARE: np.log(np.maximum(whole, 1))}[scale]
    return y - by, factor, scale


def pair_variance(samples, reference, scale):
    """(of each function, of the centre), with one run a side"""
    own = 0.01 + (1 / np.maximum(samples, 1)).mean(axis=1)
    centre = np.nan
    if reference.any():
        density = stats.norm.pdf(0, scale=np.sqrt(own[reference])).mean()
        centre = 1 / (4 * reference.sum() * density ** 2)
    return own + {CENTRED: centre, SECONDS: 0.01, SHARE: 0}[scale], centre


def fit(z, n, reference, k, factors):
    """(difference, variance of one run, variance of the difference over that)
    of each function: least squares by the side and the first singular vectors
    of the other functions."""
    runs = z.shape[1]
    side = (np.arange(runs) >= k).astype(float)
    deviation = z - z.mean(axis=1, keepdims=True)
    found = []
    for f, y in enumerate(deviation):
        others = reference.copy()
        others[f] = False
        shared = np.empty((0, runs))
        if factors:
            rows = deviation[others] * np.sqrt(np.minimum(n, 300))[others, None]
            shared = np.linalg.svd(rows, full_matrices=False)[2][:factors]
        columns = np.vstack([np.ones(runs), side, shared]).T
        inverse = np.linalg.inv(columns.T @ columns)
        at = inverse @ columns.T @ y
        residual = y - columns @ at
        found.append((at[1], residual @ residual / (runs - 2 - factors),
                      inverse[1, 1]))
    return np.array(found).T


def best_fit(z, n, reference, k, scale):
    """The fit, its degrees of freedom and its number of factors."""
    runs = z.shape[1]
    may = scale == CENTRED and reference.sum() >= 6 and runs <= 128
    best, showing = None, reference
    for factors in range(3):
        df = runs - 2 - 2 * factors
        if factors and (df < 4 or not may or showing.sum() < 6):
            break
        d, s2, x = fit(z, n, showing, k, factors)
        if not factors and may:
            t = np.abs(d) / np.sqrt(s2 * x)
            showing = reference & ~(t > stats.t.isf(0.005, df))
        reach = 0
        if may:
            t = stats.t.isf(0.001, df + 4)
            reach = (np.median(np.log(np.maximum(s2 * x * t * t,
                                                  1e-99)[reference]))
                     + 0.2 * factors)
        if best is None or reach < best[0]:
            best = reach, (d, s2, x), df, factors
    return best[1:]


def variance(s2, df, n):
    counting = 1 / np.maximum(n, 1)
    many = n >= 50
    between = (max(1e-4, np.median((s2 - counting)[many])) if many.any()
               else 0.01)
    g = counting + between
    some = n >= 20
    u0 = np.median((s2 / g)[some]) if some.any() else 0
    u0 = u0 / (1 - 2 / (9 * df)) ** 3 if u0 > 0 else 1
    return np.maximum(s2, (4 * u0 * g + df * s2) / (df + 4)), df + 4


def holm(p):
    """statsmodels' definition, written anew."""
    order = np.argsort(p, kind="stable")
    out = np.empty(len(p))
    out[order] = np.minimum(1, np.maximum.accumulate(
        p[order] * (len(p) - np.arange(len(p)))))
    return out


def presence(samples, k):
    m = samples.shape[1] - k
    base, new = samples[:, :k], samples[:, k:]

    def missing(with_it, without):
        n = with_it.sum(axis=1)
        return ((2 * (with_it > 0).sum(axis=1) > with_it.shape[1]) &
                (np.minimum(n, n * without / with_it.shape[1]) >= 10))

    return np.where((base.sum(axis=1) == 0) & missing(new, k), NEW, np.where(
        (new.sum(axis=1) == 0) & missing(base, m), GONE, INCONCLUSIVE))


def specification(samples, us, whole_n, whole_us, work, k, scale):
    m = us.shape[1] - k
    quantum = whole_us.sum() / whole_n.sum()
    y = np.log(np.maximum(us, 0.3 * quantum) / work)
    n = samples[:, :k].mean(axis=1)
    reference = references(samples, k)
    z, factor, scale = scaled(y, reference, scale, whole_us / work)
    factors, x = 0, 1 / k + 1 / m
    if k + m == 2:
        (v, centre), nu = pair_variance(samples, reference, scale), np.inf
        d = z[:, 1] - z[:, 0]
    else:
        (d, s2, x), df, factors = best_fit(z, n, reference, k, scale)
        (v, nu), centre = variance(s2, df, n), np.nan
    e = np.sqrt(v * x)
    t = stats.norm if np.isinf(nu) else stats.t(nu)
    p = 2 * t.sf(np.abs(d / e))
    share = us / whole_us
    base_share, new_share = (share[:, :k].mean(axis=1),
                             share[:, k:].mean(axis=1))
    verdict = presence(samples, k)
    tested = ((np.maximum(base_share, new_share) >= 0.005) &
              (verdict == INCONCLUSIVE))
    adjusted = np.full(len(p), np.nan)
    adjusted[tested] = holm(p[tested])
    reach = t.isf(0.025 / max(tested.sum(), 1)) + t.isf(0.2)
    low, high = np.exp(d - t.isf(0.025) * e), np.exp(d + t.isf(0.025) * e)
    one, others = ((z[:, k:], z[:, :k]) if m == 1 else (z[:, :k], z[:, k:]))
    inside = np.zeros(len(p), bool)
    if 1 in (k, m) and max(k, m) > 1:
        inside = ((others.min(axis=1) <= one[:, 0]) &
                  (one[:, 0] <= others.max(axis=1)))
    free = verdict == INCONCLUSIVE
    marked = free & (adjusted <= 0.05) & ~inside
    worse, better = marked & (d > np.log(1.05)), marked & (d < -np.log(1.05))
    same = free & ~worse & ~better & (np.maximum(high, 1 / low) - 1 <= 0.1)
    verdict[worse], verdict[better], verdict[same] = WORSE, BETTER, SAME
    head = [scale, np.exp(factor[k:].mean() - factor[:k].mean()), factors]
    return head, np.column_stack([
        (us / work)[:, :k].mean(axis=1), (us / work)[:, k:].mean(axis=1),
        base_share, new_share,
        np.exp(y[:, k:].mean(axis=1) - y[:, :k].mean(axis=1)), np.exp(d), low,
        high, np.sqrt(v), p, adjusted, np.exp(reach * e) - 1, verdict]), factor, centre


# ---- made runs ----

def make(rnd, k, m, functions):
    mean = 600 * rnd.uniform(0.6, 0.9) ** np.arange(functions)
    common = rnd.normal(0, 0.15, k + m)
    own = rnd.normal(0, rnd.uniform(0.02, 0.3, functions)[:, None],
                     (functions, k + m))
    for group in range(rnd.integers(4)):  # functions that share a factor
        own[group::3] += rnd.normal(0, 0.4, k + m)
    change = np.zeros((functions, k + m))
    change[rnd.integers(functions), k:] = rnd.choice([0, 0.3, -0.4, 1])
    samples = rnd.poisson(mean[:, None] * np.exp(common + own + change))
    for side in (slice(0, k), slice(k, None)):
        if functions > 3 and rnd.random() < 0.3:
            samples[rnd.integers(functions), side] = 0
    us = samples * INTERVAL + rnd.integers(0, 200, samples.shape) * (samples
                                                                     > 0)
    rest = rnd.integers(1, 200, k + m)
    whole_n = samples.sum(axis=0) + rest
    return samples, us, whole_n, us.sum(axis=0) + rest * INTERVAL


def text_of(samples, us, whole_n, whole_us, work, k, scale):
    f, runs = samples.shape
    lines = ["sides %d %d %d %d" % (scale, k, runs - k, f),
             " ".join(repr(float(w)) for w in work),
             " ".join("%d %d" % pair for pair in zip(whole_n, whole_us))]
    lines += [" ".join("%d %d" % pair for pair in zip(samples[i], us[i]))
              for i in range(f)]
    return "\n".join(lines) + "\n"


def close(a, b, within):
    return np.allclose(a, b, rtol=within, atol=1e-300, equal_nan=True)


def check_distributions(results, rnd):
    t = np.concatenate([rnd.uniform(-12, 12, 300), 10 ** rnd.uniform(-6, 4,
                                                                    200)])
    df = np.concatenate([rnd.integers(1, 60, 400), 10 ** rnd.uniform(0, 5,
                                                                    100)])
    mine = library("".join("t %r %r\n" % (float(a), float(b))
                           for a, b in zip(t, df)))
    theirs = 2 * stats.t.sf(np.abs(t), df)
    kept = theirs > 1e-290
    results.check("two tails of t are scipy's to 1e-9",
                  close(np.array(mine)[kept, 0], theirs[kept], 1e-9),
                  np.abs(np.array(mine)[kept, 0] / theirs[kept] - 1).max())
    above = 10 ** rnd.uniform(-9, np.log10(0.5), 500)
    mine = library("".join("quantile %r %r\n" % (float(a), float(b))
                           for a, b in zip(above, df)))
    found = stats.t.sf(np.array(mine)[:, 0], df)
    results.check("the tail beyond a quantile of t is scipy's to 1e-9",
                  close(found, above, 1e-9), np.abs(found / above - 1).max())


def same_factor(head, factor, k, centre):
    """The common factor's interval and p, by scipy's test of two samples, or
    of the centre's variance."""
    base, new = factor[:k], factor[k:]
    df = len(factor) - 2
    if df == 0:
        of = stats.norm(new[0] - base[0], np.sqrt(2 * centre))
        p = 2 * stats.norm.sf(abs(of.mean() / of.std()))
        return close(head[2:5], [*np.exp(of.interval(0.95)), p], 1e-7)
    if min(len(base), len(new)) == 1:
        return True  # scipy needs two values of each
    test = stats.ttest_ind(new, base)
    d = new.mean() - base.mean()
    half = stats.t.isf(0.025, df) * abs(d / test.statistic)
    return close(head[2:5], [np.exp(d - half), np.exp(d + half), test.pvalue],
                 1e-7)


def check_sides(results, rnd):
    taken = set()  # numbers of factors that were taken out
    for k, m in ((1, 1), (3, 1), (1, 4), (2, 2), (3, 3), (5, 5), (10, 3),
                 (20, 20)):
        for scale in (CENTRED, SECONDS, SHARE):
            worst = ""
            for functions in (1, 4, 6, 12, 40, 120):
                made = make(rnd, k, m, functions)
                work = (rnd.uniform(0.5, 2, k + m) if rnd.random() < 0.5
                        else np.ones(k + m))
                mine = library(text_of(*made, work, k, scale))
                head, theirs, factor, centre = specification(*made, work, k, scale)
                got = np.array(mine[1:])
                taken.add(head[2])
                if not (close([*mine[0][:2], mine[0][5]], head, 1e-9) and
                        same_factor(mine[0], factor, k, centre) and
                        close(got, theirs, 1e-8)):
                    bad = np.argwhere(~np.isclose(got, theirs, rtol=1e-8,
                                                  equal_nan=True))
                    worst = "%d functions: %s %s %s" % (
                        functions, mine[0], head, [
                            (tuple(at), got[tuple(at)], theirs[tuple(at)])
                            for at in bad[:5]])
            results.check("%d v %d runs, scale %d" % (k, m, scale), not worst,
                          worst)
    results.check("no, one and two factors were taken out",
                  taken == {0, 1, 2}, taken)


# ---- series ----

def partition(y, variance, penalty):
    """The first values of the levels of least cost: by extending the best
    levels of every beginning by one level, all at once."""
    n = len(y)
    best = {0: (-penalty, [])}
    for last in range(3, n + 1):
        best[last] = min(
            (cost + penalty + ((y[at:last] - y[at:last].mean()) ** 2).sum()
             / variance, points + [at])
            for at, (cost, points) in best.items() if at + 3 <= last)
    return best[n][1][1:]


def levels(y, points):
    return np.split(y, points)


def squares_of(parts):
    return sum(((part - part.mean()) ** 2).sum() for part in parts)


def place(y):
    """Where one point of y goes, and whether another place is as good."""
    n = len(y)
    places = np.arange(3, n - 2)
    logs = np.array([(2 - n) / 2 * np.log(squares_of(levels(y, [m])))
                     for m in places])
    chance = np.exp(logs - logs.max())
    around = np.convolve(chance, [9, 10, 11, 12, 11, 10, 9])[3:-3]
    return (places[around.argmax()],
            (around > around.max() * (1 - 1e-9)).sum() > 1)


def search(y, alpha):
    """(points with their p, whether two places were as good)"""
    n, old = len(y), None
    penalty = stats.t.isf(alpha / 2, n - 2) ** 2
    variance = (np.diff(y) ** 2).sum() / 2 / (n - 1)
    points, close_call = [], False
    for _ in range(10):
        points = partition(y, variance, penalty)
        variance = squares_of(levels(y, points)) / (n - 1 - len(points))
        if old == len(points):
            break
        old = len(points)
    for i in range(len(points)):
        first = points[i - 1] if i else 0
        last = points[i + 1] if i + 1 < len(points) else n
        at, is_tie = place(y[first:last])
        points[i] = first + at
        close_call |= is_tie
    while points:
        parts = levels(y, points)
        p = [stats.ttest_ind(a, b).pvalue for a, b in zip(parts, parts[1:])]
        if max(p) <= alpha:
            return points, p, close_call
        del points[int(np.argmax(p))]
    return [], [], close_call


def newest(y):
    n, ratio, least = 0, 1, 1
    for m in (1, 2, 4, 8):
        if len(y) < m + 9:
            break
        before = y[max(len(y) - m - 30, 0):len(y) - m]
        p = stats.ttest_ind_from_stats(  # a single value has no sd
            before.mean(), before.std(ddof=1), len(before), y[-m:].mean(),
            y[-m:].std(ddof=1) if m > 1 else 0, m).pvalue
        if p < least:
            least = p
            if p < 0.001 / 4:
                n, ratio = m, np.exp(y[-m:].mean() - before.mean())
    return n, ratio, least


def own_levels(y):
    """The points of a series, and the first of its newest values that
    differ."""
    points, _, _ = search(y, 3e-4)
    last = points[-1] if points else 0
    n, _, _ = newest(y[last:])
    return points + ([len(y) - n] if n else [])


def without_factors(z, n, reference):
    """Each series less the factors of the others, by least squares with the
    function's own levels as columns, too."""
    builds = z.shape[1]
    if builds < 10:
        return z
    own = [own_levels(y) for y in z]
    showing = reference & np.array([not points for points in own])
    if showing.sum() < 6:
        return z
    deviation = z - z.mean(axis=1, keepdims=True)
    rows = deviation * np.sqrt(np.minimum(n, 300))[:, None]
    value = np.linalg.svd(rows[showing], compute_uv=False) ** 2
    most = min(4, builds // 10, (value[1:] > 1e-9 * value[0]).sum())
    out = z.copy()
    for f, y in enumerate(z):
        others = showing.copy()
        others[f] = False
        shared = np.linalg.svd(rows[others], full_matrices=False)[2]
        ends = [0, *own[f], builds]
        steps = np.array([(np.arange(builds) >= a) & (np.arange(builds) < b)
                          for a, b in zip(ends, ends[1:])], float)
        best = None
        for factors in range(most + 1):
            columns = np.vstack([steps, shared[:factors]]).T
            at = np.linalg.lstsq(columns, y, rcond=None)[0]
            left = (((y - columns @ at) ** 2).sum() /
                    (builds - columns.shape[1]))
            if best is None or left < best:
                best = left
                out[f] = y - at[len(steps):] @ shared[:factors]
    return out


def builds_text(samples, us, whole_n, whole_us, work):
    head, *lines = text_of(samples, us, whole_n, whole_us, work, len(work),
                           CENTRED).splitlines()
    return "\n".join(["builds %d %d %d" % (CENTRED, len(work), len(us)),
                      *lines]) + "\n"


def check_builds(results, rnd):
    wrong, changed = [], 0
    for i in range(12):
        builds, functions = ((8, 5), (8, 30), (24, 12), (45, 12), (45, 30),
                             (70, 14))[i % 6]
        made = make(rnd, builds - 4, 4, functions)
        work = rnd.uniform(0.5, 2, builds) if i % 2 else np.ones(builds)
        samples, us, whole_n, whole_us = made
        mine = np.array(library(builds_text(*made, work)))
        y = np.log(np.maximum(us, 0.3 * whole_us.sum() / whole_n.sum()) / work)
        reference = references(samples, builds)
        z = y
        if reference.any():
            centred = scaled(y, reference, CENTRED, whole_us / work)[0]
            z = without_factors(centred, samples.mean(axis=1), reference)
            changed += not np.allclose(z, centred)
        if not np.allclose(mine, z, rtol=0, atol=1e-7):
            wrong.append((i, builds, functions, np.abs(mine - z).max()))
    results.check("series of builds are numpy's", not wrong, wrong)
    results.check("factors were taken out of some", changed > 2, changed)


def make_series(rnd):
    n = int(rnd.integers(6, 110))
    y = rnd.normal(5, 0.05, n)
    if rnd.random() < 0.3:  # heavy tails
        y += 0.05 * rnd.standard_t(3, n)
    for _ in range(rnd.integers(4)):
        y[rnd.integers(n):] += rnd.normal(0, 0.25)
    return y


def check_series(results, rnd):
    wrong, found, alarms, ties = [], 0, 0, 0
    for i in range(120):
        y, alpha = make_series(rnd), float(rnd.choice([3e-4, 1e-2]))
        mine = library("series %r %d %s\n" % (alpha, len(y), " ".join(
            repr(float(v)) for v in y)))
        points, p, tie = search(y, alpha)
        parts = levels(y, points)
        means = np.array([part.mean() for part in parts])
        theirs = np.column_stack([points, means[:-1], means[1:], p])
        head = [*newest(y), len(points)]
        found, alarms = found + len(points), alarms + (head[0] > 0)
        if tie:  # rounding decides between two places
            ties += 1
        elif not (close(mine[0], head, 1e-7) and
                  (not points or close(np.array(mine[1:]), theirs, 1e-7))):
            wrong.append((i, mine, head, theirs.tolist()))
    results.check("points of series are numpy's, their p scipy's", not wrong,
                  wrong[:2])
    results.check("series with points, and newest values that differ, were "
                  "among them", found > 20 and alarms > 5 and ties < 12,
                  (found, alarms, ties))


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    print("# seed %d" % seed)
    results = harness.Results()
    rnd = np.random.default_rng(seed)
    check_distributions(results, rnd)
    check_sides(results, rnd)
    check_series(results, rnd)
    check_builds(results, rnd)
    results.exit()


if __name__ == "__main__":
    main()
