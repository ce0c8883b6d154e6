"use strict";
/* Sums over a selection: one pass over the cells of the chosen bins, then over
 * the calls.  No pass touches samples. */

class Sums {
  constructor(profile, calls, selection) {
    this.profile = profile;
    this.calls = calls;
    this.addCells(selection);
    this.addCalls();
    this.exact = selection.isAll ? profile.facts.total_us : undefined;
  }

  addCells(selection) {
    const { profile } = this;
    const { status, node, n, us } = profile.cell;
    const wanted = new Uint8Array(256).map((_, s) => Number(passes[selection.state](s)));
    const nodeUs = this.nodeUs = new Float64Array(profile.n);
    const nodeN = this.nodeN = new Float64Array(profile.n);
    profile.threads.forEach((thread, index) => {
      if (!selection.hasThread(index)) return;
      const [from, to] = profile.cellsOf(thread, selection.first, selection.end);
      for (let i = from; i < to; i++) {
        if (!wanted[status[i]]) continue;
        nodeUs[node[i]] += us[i];
        nodeN[node[i]] += n[i];
      }
    });
  }

  addCalls() {
    const { of, parent, n } = this.calls;
    this.self = new Float64Array(n);
    this.selfN = new Float64Array(n);
    for (let i = 0; i < this.nodeUs.length; i++) {
      this.self[of[i]] += this.nodeUs[i];
      this.selfN[of[i]] += this.nodeN[i];
    }
    this.below = this.self.slice();
    this.belowN = this.selfN.slice();
    for (let i = n - 1; i > 0; i--) {
      this.below[parent[i]] += this.below[i];
      this.belowN[parent[i]] += this.belowN[i];
    }
  }

  get us() {
    return this.below[0];
  }

  get samples() {
    return this.belowN[0];
  }

  /* [function] {self, total, samples}: microseconds, and samples that end in
   * it. */
  functions() {
    if (this.perFunction) return this.perFunction;
    const { func, isFirst, n } = this.calls;
    const rows = this.profile.functions.map((_, id) =>
      ({ id, self: 0, total: 0, samples: 0 }));
    for (let i = 1; i < n; i++) {
      const row = rows[func[i]];
      row.self += this.self[i];
      row.samples += this.selfN[i];
      if (isFirst[i]) row.total += this.below[i];
    }
    if (this.exact) rows.forEach((row) => { row.total = this.exact[row.id]; });
    this.perFunction = rows.filter((row) => row.total || row.self);
    return this.perFunction;
  }

  /* Self time of each line; frames that were left out have no line. */
  lines() {
    const { profile } = this;
    const rows = new Map();
    for (let i = 1; i < profile.n; i++) {
      if (!this.nodeUs[i]) continue;
      const line = i < profile.facts.kept ? profile.line[i] : 0;
      const key = profile.func[i] * 2 ** 32 + line;
      let row = rows.get(key);
      if (!row) rows.set(key, row = { id: profile.func[i], line, self: 0, samples: 0 });
      row.self += this.nodeUs[i];
      row.samples += this.nodeN[i];
    }
    return [...rows.values()];
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
