"use strict";
/* The time line: a lane for each thread, in groups by process, events above
 * them, a range that is brushed.  Idle threads fold into one lane. */

const LANE = 18, EVENTS = 16, AXIS = 18, LABEL = 160, LANES_SHOWN = 16, COLUMN = 3;
const EVENT_COLOURS = { gc: "special", gap: "waiting", exec: "mark", suspended: "unknown", rate: "choice" };

class Timeline {
  constructor({ profile, colours, selection }) {
    Object.assign(this, { profile, colours, selection });
    this.canvas = document.getElementById("lanes");
    this.unfolded = false;
    this.scroll = 0;
    this.addLanes();
    this.listen();
    this.writeLegend();
  }

  /* ---- lanes ---- */

  /* [bin * STATES.length + state] microseconds. */
  statesOf(thread) {
    const { cell, facts } = this.profile;
    const us = new Float32Array(facts.bins * STATES.length);
    thread.bin.forEach((bin, i) => {
      for (let c = thread.first[i]; c < thread.first[i + 1]; c++)
        us[bin * STATES.length + stateOf(cell.status[c])] += cell.us[c];
    });
    return us;
  }

  addLanes() {
    const lanes = this.profile.threads.map((thread, index) => {
      const us = this.statesOf(thread);
      const ran = us.reduce((sum, v, i) => sum + (i % STATES.length < 3 ? v : 0), 0);
      return { name: text.name(thread.name), index, us, ran, process: thread.process };
    });
    const busy = lanes.filter((lane) => lane.ran > 0 || lanes.length <= LANES_SHOWN);
    this.idle = lanes.filter((lane) => !busy.includes(lane));
    this.busy = busy.sort((a, b) => b.ran - a.ran);
    this.events = this.profile.facts.events.length ? EVENTS : 0;
    this.order();
  }

  /* The lanes as they stand: a process, its busy threads, its idle ones. */
  order() {
    const { processes, base_processes: base } = this.profile.facts;
    this.lanes = [];
    for (let p = 0; p < processes.length; p++) {
      /* the new side stands above the base */
      const process = (p + base) % processes.length, isOf = (lane) => lane.process === process;
      if (processes.length > 1) this.lanes.push({ name: this.processName(process), process, isProcess: true });
      this.lanes.push(...this.busy.filter(isOf));
      const idle = this.idle.filter(isOf);
      if (this.unfolded || idle.length < 2) this.lanes.push(...idle);
      else this.lanes.push({ name: `${text.count(idle.length)} idle threads`, process, isFold: true });
    }
    this.scroll = Math.max(0, Math.min(this.scroll, this.lanes.length - LANES_SHOWN));
  }

  processName(process) {
    const name = text.name(this.profile.facts.processes[process]);
    if (!this.profile.isDiff) return name;
    return (this.profile.sideOf(process) ? "base: " : "new: ") + name;
  }

  fold() {
    this.unfolded = !this.unfolded;
    this.order();
    this.draw();
  }

  /* ---- drawing ---- */

  draw() {
    const { canvas } = this;
    const width = this.width = canvas.clientWidth;
    const shown = Math.min(this.lanes.length, LANES_SHOWN);
    const height = this.events + shown * LANE + AXIS;
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = height + "px";
    this.label = Math.min(LABEL, width / 4);
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = cssFont(12);
    pen.textBaseline = "middle";
    this.drawEvents(pen);
    this.lanes.slice(this.scroll, this.scroll + shown)
      .forEach((lane, row) => this.drawLane(pen, lane, this.events + row * LANE));
    this.drawScroll(pen, shown);
    this.drawAxis(pen, height - AXIS);
    this.drawRange(pen, height - AXIS);
  }

  /* The pixels that stand for all bins; the bar at the right end stands for
   * none. */
  get room() {
    return this.width - this.label - (this.lanes.length > LANES_SHOWN ? 8 : 0);
  }

  xOf(bin) {
    return this.label + bin / this.profile.facts.bins * this.room;
  }

  drawEvents(pen) {
    const { facts } = this.profile;
    for (const [kind, start, end] of facts.events) {
      const x = this.xOf(start / facts.bin_us);
      pen.fillStyle = this.colours.named(EVENT_COLOURS[kind] || "mark");
      pen.fillRect(x, 2, Math.max(this.xOf(end / facts.bin_us) - x, 1), EVENTS - 6);
    }
  }

  drawLane(pen, lane, y) {
    pen.fillStyle = this.colours.named(lane.us ? "front" : "quiet");
    pen.save();
    pen.beginPath();
    pen.rect(0, y, (lane.us ? this.label : this.width) - 8, LANE);
    pen.clip();
    pen.fillText(lane.name.slice(0, 300), lane.isProcess || !this.hasGroups ? 0 : 10, y + LANE / 2);
    pen.restore();
    if (!lane.us) return;
    pen.globalAlpha = this.selection.hasThread(lane.index) ? 1 : 0.25;
    const columns = Math.floor(this.room / COLUMN);
    for (let column = 0; column < columns; column++) this.drawColumn(pen, lane, column, columns, y);
    pen.globalAlpha = 1;
  }

  /* A few pixels: the states of their bins, on top of each other. */
  drawColumn(pen, lane, column, columns, y) {
    const { bins, bin_us: length } = this.profile.facts;
    const first = Math.floor(column * bins / columns);
    const end = Math.max(first + 1, Math.floor((column + 1) * bins / columns));
    let top = y + LANE - 2;
    for (let state = 0; state < STATES.length; state++) {
      let us = 0;
      for (let bin = first; bin < end; bin++) us += lane.us[bin * STATES.length + state];
      const height = Math.min(us / (length * (end - first)), 1) * (LANE - 4);
      if (height < 0.1) continue;
      pen.fillStyle = this.colours.named(STATES[state]);
      pen.fillRect(this.label + column * COLUMN, top - height, COLUMN, height);
      top -= height;
    }
  }

  get hasGroups() {
    return this.profile.facts.processes.length > 1;
  }

  /* Where the shown lanes are among all of them. */
  drawScroll(pen, shown) {
    if (shown === this.lanes.length) return;
    const height = shown * LANE, part = height / this.lanes.length;
    pen.fillStyle = this.colours.named("line");
    pen.fillRect(this.width - 4, this.events, 4, height);
    pen.fillStyle = this.colours.named("quiet");
    pen.fillRect(this.width - 4, this.events + this.scroll * part, 4, Math.max(shown * part, 8));
  }

  drawAxis(pen, y) {
    const seconds = this.profile.duration / 1e6;
    const step = niceStep(seconds / Math.max(2, this.room / 90));
    pen.fillStyle = this.colours.named("quiet");
    for (let t = 0; t <= seconds; t += step) {
      const x = this.xOf(t / seconds * this.profile.facts.bins), words = shortTime(t);
      pen.fillRect(x, y + 1, 1, 4);
      if (x + 4 + pen.measureText(words).width < this.width) pen.fillText(words, x + 4, y + AXIS / 2 + 2);
    }
  }

  drawRange(pen, bottom) {
    if (this.selection.isWholeTime) return;
    const left = this.xOf(this.selection.first), right = this.xOf(this.selection.end);
    pen.fillStyle = this.colours.named("back");
    pen.globalAlpha = 0.65;
    pen.fillRect(this.label, 0, left - this.label, bottom);
    pen.fillRect(right, 0, this.label + this.room - right, bottom);
    pen.globalAlpha = 1;
    pen.fillStyle = this.colours.named("choice");
    pen.fillRect(left - 1, 0, 2, bottom);
    pen.fillRect(right - 1, 0, 2, bottom);
  }

  writeLegend() {
    const names = {
      gil: "holds the GIL", waiting: "waits for the GIL", cpu: "on a CPU or queued for one, without the GIL",
      idle: "idle", unknown: "without the GIL, CPU state unknown",
    };
    const used = STATES.filter((_, state) => this.busy.concat(this.idle)
      .some((lane) => lane.us.some((v, i) => v && i % STATES.length === state)));
    const legend = document.getElementById("legend");
    for (const state of used) legend.append(swatch(state, names[state]));
    const kinds = [...new Set(this.profile.facts.events.map(([kind]) => kind))];
    for (const kind of kinds) legend.append(swatch(EVENT_COLOURS[kind] || "mark", kind));
    if (this.lanes.length > LANES_SHOWN)
      legend.append(text.element("span", { textContent: `${text.count(this.profile.threads.length)} threads: scroll the lanes` }));
  }

  /* ---- mouse and keys ---- */

  listen() {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (e) => this.press(e));
    canvas.addEventListener("pointermove", (e) => this.move(e));
    canvas.addEventListener("pointerup", (e) => this.release(e));
    canvas.addEventListener("pointerleave", () => tip.hide());
    canvas.addEventListener("dblclick", () => this.choose(0, this.profile.facts.bins));
    canvas.addEventListener("keydown", (e) => this.key(e));
    canvas.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
  }

  binAt(event) {
    const x = event.clientX - this.canvas.getBoundingClientRect().left - this.label;
    const { bins } = this.profile.facts;
    return Math.max(0, Math.min(bins, Math.round(x / this.room * bins)));
  }

  laneAt(event) {
    const y = event.clientY - this.canvas.getBoundingClientRect().top - this.events;
    return y < 0 ? undefined : this.lanes[this.scroll + Math.floor(y / LANE)];
  }

  press(event) {
    const x = event.clientX - this.canvas.getBoundingClientRect().left;
    if (x < this.label) this.pickLane(this.laneAt(event));
    else {
      this.from = this.binAt(event);
      this.canvas.setPointerCapture(event.pointerId);
    }
  }

  /* A click on a name chooses its thread or process, or all again. */
  pickLane(lane) {
    const { process, thread } = this.selection;
    if (!lane) return;
    if (lane.isFold) this.fold();
    else if (lane.isProcess) this.selection.set({ process: process === lane.process ? -1 : lane.process, thread: -1 });
    else this.selection.set({ thread: thread === lane.index ? -1 : lane.index });
  }

  move(event) {
    if (this.from === undefined) this.hover(event);
    else this.brush(this.binAt(event));
  }

  brush(to) {
    if (to !== this.from) this.choose(Math.min(this.from, to), Math.max(this.from, to));
  }

  release(event) {
    if (this.from === undefined) return;
    this.brush(this.binAt(event));
    this.from = undefined;
  }

  choose(first, end) {
    this.selection.set({ first, end });
  }

  hover(event) {
    const time = this.binAt(event) * this.profile.facts.bin_us;
    const y = event.clientY - this.canvas.getBoundingClientRect().top;
    const lane = this.laneAt(event);
    const words = y < this.events ? this.eventsAt(time) : lane ? lane.name : "";
    if (words) tip.show(`${shortTime(time / 1e6)}\n${words}`, event.clientX, event.clientY);
    else tip.hide();
  }

  eventsAt(time) {
    const near = 3 * this.profile.duration / this.room;
    return this.profile.facts.events
      .filter(([, start, end]) => start - near <= time && time <= end + near)
      .slice(0, 5).map(([kind, start, , detail]) =>
        `${kind} at ${text.seconds(start)} s ${text.name(detail)}`).join("\n");
  }

  wheel(event) {
    const most = Math.max(0, this.lanes.length - LANES_SHOWN);
    const scroll = Math.max(0, Math.min(most, this.scroll + Math.sign(event.deltaY)));
    if (scroll === this.scroll) return;
    event.preventDefault();
    this.scroll = scroll;
    this.draw();
  }

  /* The range keeps its length when it moves. */
  key(event) {
    const { first, end } = this.selection, { bins } = this.profile.facts;
    const length = end - first, step = Math.max(1, length >> 2);
    const moves = {
      ArrowLeft: () => Math.max(0, first - step), ArrowRight: () => Math.min(bins - length, first + step),
    };
    if (event.key in moves) {
      const at = moves[event.key]();
      this.choose(at, at + length);
    } else if (event.key === "+" || event.key === "-") {
      const change = event.key === "+" ? -Math.min(step, (length - 1) >> 1) : step;
      this.choose(Math.max(0, first - change), Math.min(bins, end + change));
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      this.wheel({ deltaY: event.key === "ArrowDown" ? 1 : -1, preventDefault() {} });
    } else if (event.key === "f" && this.idle.length > 1) {
      this.fold();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

function swatch(colour, name) {
  const square = text.element("i", {});
  square.style.background = `var(--${colour})`;
  return text.element("span", {}, square, name);
}

/* Steps of an axis that people read: 1, 2 or 5 times a power of ten, from a
 * minute on whole minutes, at least `least` seconds. */
function niceStep(least) {
  if (least > 50) return [60, 120, 300, 600, 1200, 1800, 3600].find((s) => s >= least) || 3600 * niceStep(least / 3600);
  const power = 10 ** Math.floor(Math.log10(least || 1));
  return power * [1, 2, 5, 10].find((m) => m * power >= least);
}

function shortTime(seconds) {
  const s = Number(seconds.toPrecision(4));
  if (s < 60) return s + " s";
  const minutes = Math.floor(s / 60), rest = Math.round(s % 60);
  return rest ? `${minutes} min ${rest} s` : minutes + " min";
}
