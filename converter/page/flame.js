"use strict";
/* A flame graph on a canvas: boxes of one tree, as far as they are seen. */

const ROW = 20, NARROWEST = 2, ROWS_MAX = 400;

class Flame {
  /* up: the root is at the bottom.  onPick(func) when a box is asked for. */
  constructor({ profile, colours, changes, label, up = false, onZoom, onPick, onFocus }) {
    Object.assign(this, { profile, colours, changes, up, onZoom, onPick, onFocus });
    this.canvas = text.element("canvas", { tabIndex: 0 });
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-label", label);
    this.matches = null;
    this.boxes = [];
    this.focused = null;
    this.listen();
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("mousemove", (e) => this.hover(e));
    canvas.addEventListener("mouseleave", () => tip.hide());
    canvas.addEventListener("click", (e) => this.click(e));
    canvas.addEventListener("dblclick", (e) => this.withBox(e, (box) => this.onPick(box.group.func)));
    canvas.addEventListener("keydown", (e) => this.key(e));
    canvas.addEventListener("blur", () => tip.hide());
  }

  /* Show the tree, zoomed to the group at the end of `path` (functions from
   * the root on). */
  show(tree, path, matches, by) {
    this.tree = tree;
    this.by = by;
    this.matches = matches;
    this.zoomed = this.follow(path);
    this.focused = null;
    this.draw();
  }

  follow(path) {
    let group = this.tree.root;
    for (const func of path) {
      const child = this.tree.children(group).find((g) => g.func === func && !g.leftOut);
      if (!child) break;
      group = child;
    }
    return group;
  }

  pathTo(group) {
    const path = [];
    for (let g = group; g !== this.tree.root; g = g.parent) path.unshift(g.func);
    return path;
  }

  /* ---- layout ---- */

  /* Ancestors of the zoomed group have the full width. */
  layOut(width) {
    const above = [];
    for (let g = this.zoomed; g; g = g.parent) above.unshift(g);
    this.boxes = above.map((group, row) => ({ group, row, x: 0, width, above: group !== this.zoomed }));
    const open = [this.boxes[this.boxes.length - 1]];
    const scale = this.zoomed.us ? width / this.zoomed.us : 0;
    while (open.length) this.layOutChildren(open.pop(), scale, open);
    this.rows = this.boxes.reduce((most, box) => Math.max(most, box.row), 0) + 1;
  }

  layOutChildren(box, scale, open) {
    if (box.row + 1 >= ROWS_MAX) return;
    let { x } = box;
    const groups = this.tree.children(box.group), row = box.row + 1;
    const wide = groups.filter((group) => group.us * scale >= NARROWEST);
    for (const group of wide) {
      const child = { group, row, x, width: group.us * scale, above: false };
      this.boxes.push(child);
      open.push(child);
      x += child.width;
    }
    const rest = narrowGroup(box.group, groups.slice(wide.length));
    if (rest.us * scale >= NARROWEST)
      this.boxes.push({ group: rest, row, x, width: rest.us * scale, above: false });
  }

  /* ---- drawing ---- */

  draw() {
    const { canvas } = this;
    const width = canvas.clientWidth || canvas.parentElement.clientWidth;
    this.layOut(width);
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(this.rows * ROW * ratio);
    canvas.style.height = this.rows * ROW + "px";
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = cssFont(12);
    pen.textBaseline = "middle";
    for (const box of this.boxes) this.drawBox(pen, box);
  }

  top(box) {
    return (this.up ? this.rows - 1 - box.row : box.row) * ROW;
  }

  drawBox(pen, box) {
    const y = this.top(box), { group } = box;
    const isMatch = this.matches && group.func >= 0 && this.matches(group.func);
    pen.globalAlpha = box.above ? 0.5 : 1;
    pen.fillStyle = isMatch ? this.colours.named("mark") : this.colourOf(group);
    pen.fillRect(box.x, y, Math.max(box.width - 1, 0.5), ROW - 1);
    if (group.leftOut || group.narrow) this.hatch(pen, box, y);
    if (box.group === this.focused) {
      pen.strokeStyle = this.colours.named("choice");
      pen.lineWidth = 2;
      pen.strokeRect(box.x + 1, y + 1, Math.max(box.width - 2, 1), ROW - 3);
    }
    if (box.width > 24) this.drawName(pen, box, y, isMatch);
    pen.globalAlpha = 1;
  }

  hatch(pen, box, y) {
    pen.fillStyle = this.colours.named("back");
    for (let x = box.x + 3; x < box.x + box.width - 2; x += 6) pen.fillRect(x, y + ROW - 4, 3, 2);
  }

  drawName(pen, box, y, isMatch) {
    pen.save();
    pen.beginPath();
    pen.rect(box.x, y, box.width - 4, ROW);
    pen.clip();
    pen.fillStyle = this.colours.named(isMatch ? "back" : "letters");
    /* no name is wider than its letters allow: long ones need not be shaped */
    pen.fillText(this.nameOf(box.group).slice(0, box.width >> 1), box.x + 5, y + ROW / 2);
    pen.restore();
  }

  colourOf(group) {
    if (group.narrow || group.func < 0) return this.colours.named("other");
    if (this.by === "change") return this.colours.named(this.verdictOf(group) || "same");
    if (this.by === "state") return this.colours.named(this.tree.stateOf(group));
    return this.colours.of(group.func, this.by);
  }

  /* ---- a comparison ---- */

  /* {now, base} of a group, each {us, n}. */
  sidesOf(group) {
    const { sums, other } = this.tree;
    const shown = this.tree.measure(group, sums), hidden = this.tree.measure(group, other);
    return sums.side ? { now: hidden, base: shown } : { now: shown, base: hidden };
  }

  get whole() {
    const { sums, other } = this.tree;
    return sums.side ? { now: other.us, base: sums.us } : { now: sums.us, base: other.us };
  }

  verdictOf(group) {
    if (!this.changes || group.narrow) return "";
    if (group.verdict === undefined) {
      const { now, base } = this.sidesOf(group);
      group.verdict = this.changes.verdict(now, base, this.whole);
    }
    return group.verdict;
  }

  /* Both sides of a group in words. */
  compare(group) {
    const { now, base } = this.sidesOf(group), verdict = this.verdictOf(group);
    return [`new ${text.seconds(now.us)} s, base ${text.seconds(base.us)} s, ${changeText(now.us, base.us)}`,
      verdict ? `${MARKS[verdict]} ${verdict}: more than the noise` : "within the noise"];
  }

  nameOf(group) {
    if (group.narrow) return `${text.count(group.narrow)} more`;
    if (group.func < 0) return "all";
    const name = text.name(this.profile.functions[group.func].name);
    return group.leftOut ? "\u2026 " + name : name;
  }

  describe(group) {
    const whole = this.tree.root.us;
    const func = this.profile.functions[group.func];
    const lines = [this.nameOf(group)];
    if (func) lines.push(text.place(func));
    lines.push(`${text.seconds(group.us)} s, ${text.percent(group.us, whole)} %`);
    if (this.changes && !group.narrow) lines.push(...this.compare(group));
    if (group.leftOut) lines.push("frames between are left out");
    if (group.narrow) lines.push("too narrow to draw: zoom in");
    return lines.filter(Boolean).join("\n");
  }

  /* ---- mouse ---- */

  boxAt(event) {
    const area = this.canvas.getBoundingClientRect();
    const x = event.clientX - area.left, y = event.clientY - area.top;
    return this.boxes.find((box) => x >= box.x && x < box.x + box.width &&
      y >= this.top(box) && y < this.top(box) + ROW);
  }

  withBox(event, act) {
    const box = this.boxAt(event);
    if (box && box.group.func >= 0) act(box);
  }

  hover(event) {
    const box = this.boxAt(event);
    if (box) tip.show(this.describe(box.group), event.clientX, event.clientY);
    else tip.hide();
  }

  click(event) {
    const box = this.boxAt(event);
    if (box) this.zoom(box.group.narrow ? box.group.parent : box.group);
  }

  zoom(group) {
    this.focused = group;
    this.onZoom(this.pathTo(group));
  }

  /* ---- keys ---- */

  key(event) {
    const group = this.focused || this.zoomed;
    const step = {
      ArrowLeft: () => this.sibling(group, -1), ArrowRight: () => this.sibling(group, 1),
      ArrowUp: () => (this.up ? this.tree.children(group)[0] : group.parent),
      ArrowDown: () => (this.up ? group.parent : this.tree.children(group)[0]),
    }[event.key];
    if (step) this.setFocus(step() || group);
    else if (event.key === "Enter") this.zoom(group);
    else if (event.key === "Backspace") this.zoom(this.zoomed.parent || this.zoomed);
    else if (event.key === "s" && group.func >= 0) this.onPick(group.func);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  sibling(group, by) {
    if (!group.parent) return group;
    const all = this.tree.children(group.parent);
    return all[all.indexOf(group) + by];
  }

  setFocus(group) {
    this.focused = group;
    this.draw();
    this.onFocus(this.describe(group));
  }
}

/* All that is too narrow to draw below a group, as one. */
function narrowGroup(parent, groups) {
  const rest = new Group(-1, parent);
  rest.us = groups.reduce((sum, group) => sum + group.us, 0);
  rest.narrow = groups.length;
  return rest;
}

/* The note at the mouse. */
const tip = {
  show(words, x, y) {
    const element = document.getElementById("tip");
    element.textContent = words;
    element.hidden = false;
    const { width, height } = element.getBoundingClientRect();
    element.style.left = Math.max(0, Math.min(x + 12, innerWidth - width - 8)) + "px";
    element.style.top = (y + 16 + height > innerHeight ? y - height - 8 : y + 16) + "px";
  },

  hide() {
    document.getElementById("tip").hidden = true;
  },
};
