"use strict";
/* The profile: nodes (stacks of lines), calls (stacks of functions, made from
 * the nodes), and the cells of each thread's bins. */

const STATES = ["gil", "waiting", "cpu", "idle", "unknown"];

/* Bits of a status, as CPython 3.15 has them. */
const STATUS = { gil: 1, cpu: 2, cpuUnknown: 4, waiting: 8, exception: 16, main: 32 };

/* The one state that a lane of the time line shows. */
function stateOf(status) {
  if (status & STATUS.gil) return 0;
  if (status & STATUS.waiting) return 1;
  if (status & STATUS.cpuUnknown) return 4;
  return status & STATUS.cpu ? 2 : 3;
}

class Profile {
  constructor({ facts, column }) {
    this.facts = facts;
    this.isDiff = facts.sides.length > 1;
    this.sourceOf = new Map(facts.sources ? facts.sources.texts : []);
    this.readFunctions();
    this.readNodes(column[1], column[2], column[3]);
    this.readCells(column);
  }

  readFunctions() {
    const { functions, files } = this.facts;
    this.functions = [];
    for (let i = 0; i < functions.length; i += 3) {
      const file = functions[i + 1];
      this.functions.push({
        name: functions[i], path: files[2 * file], kind: files[2 * file + 1],
        line: functions[i + 2], file,
      });
    }
  }

  /* Node 0 is the empty stack; a parent comes before its children. */
  readNodes(parents, functions, lines) {
    const n = this.n = this.facts.nodes;
    this.parent = new Uint32Array(n);
    this.func = new Int32Array(n);
    this.line = new Int32Array(n);
    let func = 0;
    for (let i = 0; i < n; i++) {
      this.parent[i] = i - parents.next();
      func = i ? func + functions.signed() : (functions.signed(), 0);
      const step = lines.signed();
      this.func[i] = i ? func : -1;
      this.line[i] = i ? this.functions[func].line + step : 0;
    }
  }

  readCells(column) {
    const [, , , , perThread, steps, counts, status, node, samples, time] = column;
    const total = status.bytes.length;
    this.cell = {
      status: new Uint8Array(total), node: new Uint32Array(total),
      n: new Uint32Array(total), us: new Float64Array(total),
    };
    let at = 0, last = 0;
    this.threads = this.facts.threads.map((thread) => {
      const bins = perThread.next();
      const list = { bin: new Uint32Array(bins), first: new Uint32Array(bins + 1) };
      let bin = 0;
      for (let i = 0; i < bins; i++) {
        bin += steps.next();
        list.bin[i] = bin;
        list.first[i] = at;
        for (let end = at + counts.next(); at < end; at++) {
          this.cell.status[at] = status.next();
          last += node.signed();
          this.cell.node[at] = last;
          this.cell.n[at] = samples.next();
          this.cell.us[at] = time.signed() + this.cell.n[at] * this.facts.interval_us;
        }
      }
      list.first[bins] = at;
      return { ...thread, ...list, side: this.sideOf(thread.process) };
    });
  }

  /* 1: the base of a comparison. */
  sideOf(process) {
    return process < this.facts.base_processes ? 1 : 0;
  }

  /* The cells [from, to) of a thread in the bins [first, end). */
  cellsOf(thread, first, end) {
    return [thread.first[lowerBound(thread.bin, first)],
      thread.first[lowerBound(thread.bin, end)]];
  }

  get duration() {
    return this.facts.bins * this.facts.bin_us;
  }
}

/* The first place in a sorted array whose value is at least `value`. */
function lowerBound(array, value) {
  let from = 0, to = array.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (array[middle] < value) from = middle + 1;
    else to = middle;
  }
  return from;
}
