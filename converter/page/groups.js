"use strict";
/* Trees to draw, opened as far as they are seen.  A group is a function at one
 * place of a tree, with the calls that it stands for. */

class Group {
  constructor(func, parent) {
    this.func = func;
    this.parent = parent;
    this.us = 0;
    this.calls = [];
    this.origins = []; /* of each call: the call whose time it has */
    this.leftOut = false;
  }

  add(call, origin, us) {
    this.us += us;
    this.calls.push(call);
    this.origins.push(origin);
  }
}

/* Groups by function, the heaviest first; those of the other side alone have
 * no time here. */
function sortGroups(map) {
  return [...map.values()].filter((group) => group.us)
    .sort((a, b) => b.us - a.us || a.func - b.func);
}

function groupFor(map, parent, func, leftOut) {
  const key = leftOut ? -2 - func : func;
  let group = map.get(key);
  if (!group) {
    map.set(key, group = new Group(func, parent));
    group.leftOut = leftOut;
  }
  return group;
}

/* A group's time is that of its origins, by themselves ("self") or with all
 * below them ("below"), so every side and state has one. */
class Tree {
  constructor(sums, other, time) {
    this.sums = sums;
    this.other = other; /* of the other side of a comparison, or null */
    this.time = time;
  }

  children(group) {
    if (!group.opened) group.opened = this.open(group);
    return group.opened;
  }

  has(call) {
    return this.sums[this.time][call] || (this.other && this.other[this.time][call]);
  }

  add(group, call, origin) {
    group.add(call, origin, this.sums[this.time][origin]);
  }

  /* {us, n} of a group on one side. */
  measure(group, sums) {
    return { us: total(sums[this.time], group.origins), n: total(sums[this.time + "N"], group.origins) };
  }

  /* The state in which most of a group's time lies. */
  stateOf(group) {
    const us = this.sums.states(this.time).map((values) => total(values, group.origins));
    return STATES[us.indexOf(Math.max(...us))];
  }
}

function total(values, indices) {
  let sum = 0;
  for (const i of indices) sum += values[i];
  return sum;
}

/* From callers to callees. */
class CalleeTree extends Tree {
  open(group) {
    const { calls } = this.sums;
    const map = new Map();
    for (const call of group.calls)
      for (let i = calls.first[call]; i < calls.first[call + 1]; i++) {
        const child = calls.child[i];
        if (this.has(child))
          this.add(groupFor(map, group, calls.func[child], calls.leftOut[child]), child, child);
      }
    return sortGroups(map);
  }

  static whole(sums, other) {
    const tree = new CalleeTree(sums, other, "below");
    tree.root = new Group(-1, null);
    tree.add(tree.root, 0, 0);
    return tree;
  }

  /* All that a function calls. */
  static of(sums, other, func) {
    const tree = new CalleeTree(sums, other, "below");
    tree.root = rootOf(tree, func);
    return tree;
  }
}

/* From callees to callers: each call goes up by one. */
class CallerTree extends Tree {
  open(group) {
    const { calls } = this.sums;
    const map = new Map();
    group.calls.forEach((call, i) => {
      const caller = calls.parent[call];
      if (caller) this.add(groupFor(map, group, calls.func[caller], false), caller, group.origins[i]);
    });
    return sortGroups(map);
  }

  /* Below the root, the functions in which samples end. */
  static whole(sums, other) {
    const tree = new CallerTree(sums, other, "self"), map = new Map();
    const root = tree.root = new Group(-1, null);
    tree.add(root, 0, 0);
    for (let i = 1; i < sums.calls.n; i++) {
      if (!tree.has(i)) continue;
      tree.add(groupFor(map, root, sums.calls.func[i], false), i, i);
      tree.add(root, i, i);
    }
    root.opened = sortGroups(map);
    return tree;
  }

  /* All that call a function. */
  static of(sums, other, func) {
    const tree = new CallerTree(sums, other, "below");
    tree.root = rootOf(tree, func);
    return tree;
  }
}

/* The calls of a function that no call of it contains. */
function rootOf(tree, func) {
  const { calls } = tree.sums;
  const root = new Group(func, null);
  for (let i = 1; i < calls.n; i++)
    if (calls.func[i] === func && calls.isFirst[i] && tree.has(i)) tree.add(root, i, i);
  return root;
}
