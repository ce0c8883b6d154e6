"use strict";
/* Trees to draw, opened as far as they are seen.  A group is a function at one
 * place of a tree: the calls it stands for, each with its weight. */

class Group {
  constructor(func, parent) {
    this.func = func;
    this.parent = parent;
    this.us = 0;
    this.self = 0; /* us, without those of the group's children */
    this.calls = [];
    this.weights = [];
    this.leftOut = false;
  }

  add(call, us) {
    this.us += us;
    this.calls.push(call);
    this.weights.push(us);
  }
}

/* Groups by function, the heaviest first. */
function sortGroups(map) {
  return [...map.values()].sort((a, b) => b.us - a.us || a.func - b.func);
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

class Tree {
  constructor(sums, root) {
    this.sums = sums;
    this.root = root;
  }

  children(group) {
    if (!group.opened) group.opened = this.open(group);
    return group.opened;
  }
}

/* From callers to callees. */
class CalleeTree extends Tree {
  open(group) {
    const { calls, below } = this.sums;
    const map = new Map();
    for (const call of group.calls)
      for (let i = calls.first[call]; i < calls.first[call + 1]; i++) {
        const child = calls.child[i];
        if (below[child])
          groupFor(map, group, calls.func[child], calls.leftOut[child]).add(child, below[child]);
      }
    const groups = sortGroups(map);
    group.self = group.us - groups.reduce((sum, g) => sum + g.us, 0);
    return groups;
  }

  static whole(sums) {
    const root = new Group(-1, null);
    root.add(0, sums.below[0]);
    return new CalleeTree(sums, root);
  }

  /* All that a function calls. */
  static of(sums, func) {
    const root = new Group(func, null);
    firstCalls(sums, func, (call) => root.add(call, sums.below[call]));
    return new CalleeTree(sums, root);
  }
}

/* From callees to callers: each call goes up by one. */
class CallerTree extends Tree {
  open(group) {
    const { calls } = this.sums;
    const map = new Map();
    group.calls.forEach((call, i) => {
      const caller = calls.parent[call];
      if (caller)
        groupFor(map, group, calls.func[caller], false).add(caller, group.weights[i]);
    });
    const groups = sortGroups(map);
    group.self = group.us - groups.reduce((sum, g) => sum + g.us, 0);
    return groups;
  }

  /* Below the root, the functions in which samples end. */
  static whole(sums) {
    const root = new Group(-1, null), map = new Map();
    for (let i = 1; i < sums.calls.n; i++)
      if (sums.self[i]) groupFor(map, root, sums.calls.func[i], false).add(i, sums.self[i]);
    root.us = sums.us;
    root.opened = sortGroups(map);
    root.self = sums.self[0];
    return new CallerTree(sums, root);
  }

  /* All that call a function. */
  static of(sums, func) {
    const root = new Group(func, null);
    firstCalls(sums, func, (call) => root.add(call, sums.below[call]));
    return new CallerTree(sums, root);
  }
}

function firstCalls(sums, func, take) {
  const { calls } = sums;
  for (let i = 1; i < calls.n; i++)
    if (calls.func[i] === func && calls.isFirst[i] && sums.below[i]) take(i);
}
