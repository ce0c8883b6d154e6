"use strict";
/* Sums over a selection on one side: one pass over the cells of the chosen
 * bins, then over the calls.  No pass touches samples. */

class Sums {
  constructor(profile, calls, selection, side) {
    this.profile = profile;
    this.calls = calls;
    this.side = side;
    this.wanted = new Uint8Array(256).map((_, s) => Number(passes[selection.state](s)));
    const all = new Uint8Array(256).fill(1);
    this.ranges = profile.threads
      .filter((thread, index) => thread.side === side && selection.hasThread(index))
      .map((thread) => ({
        range: profile.cellsOf(thread, selection.first, selection.end),
        /* a thread may be known as a main one without the bit of a status */
        passing: selection.state === "main" && thread.main ? all : this.wanted,
      }));
    this.addCells();
    this.addCalls();
    this.exact = selection.isAll && !profile.isDiff ? profile.facts.total_us : undefined;
  }

  addCells() {
    const { status, node, n, us } = this.profile.cell;
    const nodeUs = this.nodeUs = new Float64Array(this.profile.n);
    const nodeN = this.nodeN = new Float64Array(this.profile.n);
    for (const { range: [from, to], passing } of this.ranges)
      for (let i = from; i < to; i++) {
        if (!passing[status[i]]) continue;
        nodeUs[node[i]] += us[i];
        nodeN[node[i]] += n[i];
      }
  }

  addCalls() {
    const { of, n } = this.calls;
    this.self = new Float64Array(n);
    this.selfN = new Float64Array(n);
    for (let i = 0; i < this.nodeUs.length; i++) {
      this.self[of[i]] += this.nodeUs[i];
      this.selfN[of[i]] += this.nodeN[i];
    }
    this.below = addUp(this.self, this.calls.parent);
    this.belowN = addUp(this.selfN, this.calls.parent);
  }

  get us() {
    return this.below[0];
  }

  get samples() {
    return this.belowN[0];
  }

  /* [state][call] microseconds, of calls by themselves or with those below. */
  states(time) {
    if (!this.perState) this.perState = this.addStates();
    return this.perState[time];
  }

  addStates() {
    const { of, n, parent } = this.calls;
    const { status, node, us } = this.profile.cell;
    const self = STATES.map(() => new Float64Array(n));
    for (const { range: [from, to], passing } of this.ranges)
      for (let i = from; i < to; i++)
        if (passing[status[i]]) self[stateOf(status[i])][of[node[i]]] += us[i];
    return { self, below: self.map((values) => addUp(values, parent)) };
  }

  /* [function] {id, self, total, n, totalN}: microseconds, samples that end in
   * it, samples that hold it. */
  functions() {
    if (this.perFunction) return this.perFunction;
    const { func, isFirst, n } = this.calls;
    const rows = this.perFunction = this.profile.functions.map((_, id) =>
      ({ id, self: 0, total: 0, n: 0, totalN: 0 }));
    for (let i = 1; i < n; i++) {
      const row = rows[func[i]];
      row.self += this.self[i];
      row.n += this.selfN[i];
      if (!isFirst[i]) continue;
      row.total += this.below[i];
      row.totalN += this.belowN[i];
    }
    if (this.exact) rows.forEach((row) => { row.total = this.exact[row.id]; });
    return rows;
  }

  /* {key: {id, line, self, n}} of each line in which samples end; frames that
   * were left out have no line. */
  lines() {
    const { profile } = this;
    const rows = new Map();
    for (let i = 1; i < profile.n; i++) {
      if (!this.nodeN[i]) continue;
      const line = i < profile.facts.kept ? profile.line[i] : 0;
      const key = profile.func[i] * 2 ** 32 + line;
      let row = rows.get(key);
      if (!row) rows.set(key, row = { id: profile.func[i], line, self: 0, n: 0 });
      row.self += this.nodeUs[i];
      row.n += this.nodeN[i];
    }
    return rows;
  }

  /* {line: {self, n, total}} of a file; a total counts each sample once,
   * however often the line is on its stack. */
  linesOf(file) {
    const { profile } = this;
    const { parent, line, func, functions } = profile;
    const below = addUp(this.nodeUs, parent), rows = new Map();
    for (let i = 1; i < profile.facts.kept; i++) {
      if (!below[i] || functions[func[i]].file !== file) continue;
      let row = rows.get(line[i]);
      if (!row) rows.set(line[i], row = { self: 0, n: 0, total: 0 });
      row.self += this.nodeUs[i];
      row.n += this.nodeN[i];
      let up = parent[i];
      while (up && (line[up] !== line[i] || functions[func[up]].file !== file)) up = parent[up];
      if (!up) row.total += below[i];
    }
    return rows;
  }

  /* Time with a function for which `matches` holds anywhere on the stack. */
  withMatch(matches) {
    const { func, parent, n } = this.calls;
    const inside = new Uint8Array(n);
    let us = 0;
    for (let i = 1; i < n; i++) {
      if (inside[parent[i]]) inside[i] = 1;
      else if (matches(func[i])) {
        inside[i] = 1;
        us += this.below[i];
      }
    }
    return us;
  }
}

/* Each value with all below it; a parent comes before its children. */
function addUp(values, parent) {
  const sums = values.slice();
  for (let i = sums.length - 1; i > 0; i--) sums[parent[i]] += sums[i];
  return sums;
}
