"use strict";
/* Stacks of functions: nodes that differ in lines alone are one call, and
 * functions of a class that is hidden stand in no stack. */

class Calls {
  constructor(profile, hidden) {
    const { n, parent, func } = profile;
    const width = profile.functions.length + 1;
    const known = new Map();
    this.of = new Uint32Array(n); /* [node] its call */
    this.parent = [0];
    this.func = [-1];
    this.leftOut = [false];
    for (let i = 1; i < n; i++) {
      const above = this.of[parent[i]];
      if (hidden(func[i])) {
        this.of[i] = above;
        continue;
      }
      const leftOut = i >= profile.facts.kept;
      const key = ((leftOut ? n : 0) + above) * width + func[i];
      let call = known.get(key);
      if (call === undefined) {
        call = this.func.length;
        known.set(key, call);
        this.parent.push(above);
        this.func.push(func[i]);
        this.leftOut.push(leftOut);
      }
      this.of[i] = call;
    }
    this.link();
    this.markFirst(profile.functions.length);
  }

  get n() {
    return this.func.length;
  }

  /* child[first[i] .. first[i + 1]) are the calls below i. */
  link() {
    const n = this.n;
    this.first = new Uint32Array(n + 1);
    for (let i = 1; i < n; i++) this.first[this.parent[i] + 1]++;
    for (let i = 0; i < n; i++) this.first[i + 1] += this.first[i];
    this.child = new Uint32Array(n);
    const next = this.first.slice();
    for (let i = 1; i < n; i++) this.child[next[this.parent[i]]++] = i;
  }

  /* isFirst[i]: no call above i is of the same function.  So a total over the
   * first ones counts each sample once, however deep the recursion. */
  markFirst(nFunctions) {
    this.isFirst = new Uint8Array(this.n);
    const open = new Uint32Array(nFunctions);
    const path = [[0, this.first[0]]];
    while (path.length) {
      const top = path[path.length - 1];
      if (top[1] === this.first[top[0] + 1]) {
        if (top[0]) open[this.func[top[0]]]--;
        path.pop();
        continue;
      }
      const call = this.child[top[1]++];
      this.isFirst[call] = open[this.func[call]]++ === 0 ? 1 : 0;
      path.push([call, this.first[call]]);
    }
  }
}
