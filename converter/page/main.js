"use strict";
/* The page: a selection, the sums of it, and the view that shows them. */

class Page {
  constructor(profile) {
    this.profile = profile;
    this.selection = new Selection(profile);
    this.selection.read(location.hash);
    this.colours = new Colours(profile);
    this.timeline = new Timeline(this);
    this.views = {
      flame: () => this.showFlame(CalleeTree.whole(this.sums, this.other), "Flame graph, callers above callees"),
      inverted: () => this.showFlame(CallerTree.whole(this.sums, this.other), "Inverted flame graph, callees above callers"),
      sandwich: () => this.showSandwich(),
      functions: () => this.showFunctions(),
      lines: () => this.showLines(),
      source: () => this.showSource(),
    };
    if (profile.isDiff) this.changes = new Changes(profile.facts);
    heading.write(profile);
    this.addControls();
    this.listen();
    this.makeCalls();
    this.makeSums();
    this.show();
  }

  /* ---- from the selection to numbers ---- */

  makeCalls() {
    const { functions } = this.profile, wanted = this.selection.class;
    this.calls = new Calls(this.profile, (func) => wanted !== "all" && functions[func].kind !== wanted);
  }

  /* The sums of the side that is drawn, and of the other one in a comparison. */
  makeSums() {
    const { profile, calls, selection } = this, side = SIDES.indexOf(selection.side);
    this.sums = new Sums(profile, calls, selection, side);
    this.other = profile.isDiff ? new Sums(profile, calls, selection, 1 - side) : null;
  }

  get now() {
    return this.sums.side ? this.other : this.sums;
  }

  get base() {
    return this.sums.side ? this.sums : this.other;
  }

  get whole() {
    return { now: this.now.us, base: this.base.us };
  }

  update(what) {
    if (what.has("class")) this.makeCalls();
    if (["first", "end", "state", "class", "process", "thread", "side"].some((key) => what.has(key))) this.makeSums();
    this.show();
  }

  /* ---- controls ---- */

  addControls() {
    const views = document.getElementById("views");
    VIEWS.forEach((view, i) => {
      const button = text.element("button", { type: "button", textContent: view, title: `key ${i + 1}` });
      button.setAttribute("role", "tab");
      button.addEventListener("click", () => this.selection.set({ view, path: [] }));
      views.append(button);
    });
    const { processes } = this.profile.facts, { threads } = this.profile;
    this.addChoice("state", STATE_FILTERS.map((name) => [name, name]));
    this.addChoice("class", CLASS_FILTERS.map((name) => [name, name]));
    this.addChoice("colour", COLOURS.filter((name) => this.changes || name !== "change").map((name) => [name, name]));
    this.addChoice("side", SIDES.map((name) => [name, name]));
    document.getElementById("side").parentElement.hidden = !this.changes;
    this.addChoice("process", [[-1, "all"], ...processes.map((p, i) => [i, text.name(p)])]);
    this.addChoice("thread", [[-1, "all"], ...threads.map((t, i) => [i, text.name(t.name)])]);
    document.getElementById("process").parentElement.hidden = processes.length < 2;
  }

  addChoice(field, options) {
    const select = document.getElementById(field);
    for (const [value, words] of options) select.append(text.element("option", { value, textContent: words }));
    select.addEventListener("change", () => {
      const value = typeof this.selection[field] === "number" ? Number(select.value) : select.value;
      this.selection.set({ [field]: value });
    });
  }

  listen() {
    this.selection.onChange((what) => this.update(what));
    const search = document.getElementById("search");
    search.addEventListener("input", () => this.selection.set({ search: search.value }));
    document.getElementById("reset").addEventListener("click", () => this.reset());
    document.getElementById("export").addEventListener("click", () => this.export());
    document.addEventListener("keydown", (event) => this.key(event));
    addEventListener("hashchange", () => this.follow());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.colours.forget();
      this.show();
    });
    new ResizeObserver(() => this.resize()).observe(document.body);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") this.reset();
    else if (/^(INPUT|SELECT)$/.test(event.target.tagName)) return;
    else if (event.key === "/") document.getElementById("search").focus();
    else if (event.key === "e") this.export();
    else if (VIEWS[event.key - 1]) this.selection.set({ view: VIEWS[event.key - 1], path: [] });
    else return;
    event.preventDefault();
  }

  reset() {
    const { view, colour } = this.selection;
    this.selection.set({ ...usual(this.profile), view, colour });
    document.activeElement.blur();
  }

  /* The address was changed by hand or by a link. */
  follow() {
    this.selection.read(location.hash);
    this.makeCalls();
    this.makeSums();
    this.show();
  }

  resize() {
    if (document.body.clientWidth === this.width) return;
    this.width = document.body.clientWidth;
    this.timeline.draw();
    for (const flame of this.flames) flame.draw();
  }

  /* ---- views ---- */

  show() {
    const { selection } = this;
    this.width = document.body.clientWidth;
    for (const field of ["state", "class", "process", "thread", "colour", "side", "search"])
      document.getElementById(field).value = selection[field];
    document.querySelectorAll("#views button").forEach((button) =>
      button.setAttribute("aria-selected", String(button.textContent === selection.view)));
    tip.hide();
    this.timeline.draw();
    this.flames = [];
    this.table = null;
    if (this.isEmpty) this.showNothing();
    else this.views[selection.view]();
    this.say();
    this.writeColours();
  }

  get isEmpty() {
    return !this.sums.samples && !(this.other && this.other.samples);
  }

  showNothing() {
    const recorded = this.profile.facts.sides.some((side) => side.samples);
    this.put(text.element("p", { className: "empty",
      textContent: recorded ? "No sample passes the filters. Escape shows all." : "The recording has no samples." }));
  }

  /* The colours of the boxes that are drawn, if they have names. */
  writeColours() {
    const names = { class: ["project", "site", "stdlib", "frozen", "special"], state: STATES,
      change: ["worse", "better", "new", "gone", "same"] }[this.selection.colour];
    const used = new Set(this.flames.flatMap((flame) => flame.boxes.map((box) => flame.colourOf(box.group))));
    const shown = (names || []).filter((name) => used.has(this.colours.named(name)));
    document.getElementById("colours").replaceChildren(...shown.map((name) =>
      swatch(name, MARKS[name] ? `${MARKS[name]} ${name}` : name === "same" ? "within the noise" : name)));
  }

  say() {
    const { facts } = this.profile, { selection, sums } = this;
    const parts = [`${text.seconds(sums.us)} s, ${text.count(sums.samples)} samples selected`];
    if (this.changes) parts[0] = `new ${amount(this.now)}, base ${amount(this.base)} selected`;
    if (!selection.isWholeTime)
      parts.push(`from ${text.seconds(selection.first * facts.bin_us)} s to ${text.seconds(Math.min(selection.end * facts.bin_us, this.profile.duration))} s`);
    if (this.matches) {
      const us = sums.withMatch(this.matches);
      parts.push(`${text.seconds(us)} s (${text.percent(us, sums.us)} %) with "${text.name(selection.search)}"`);
    }
    document.getElementById("selected").textContent = parts.join("; ");
  }

  /* The functions that the search names, or null without a search. */
  get matches() {
    const words = this.selection.search.toLowerCase();
    if (!words) return null;
    if (this.searched !== words) {
      this.searched = words;
      this.found = this.profile.functions.map((f) =>
        f.name.toLowerCase().includes(words) || f.path.toLowerCase().includes(words));
    }
    return (func) => this.found[func];
  }

  newFlame(label, onZoom, up) {
    const flame = new Flame({
      profile: this.profile, colours: this.colours, changes: this.changes, label, onZoom, up,
      onPick: (func) => this.pick(func),
      onFocus: (words) => { document.getElementById("focus").textContent = words.replaceAll("\n", ", "); },
    });
    this.flames.push(flame);
    return flame;
  }

  pick(func) {
    this.selection.set({ view: "sandwich", func, path: [] });
  }

  put(...elements) {
    document.getElementById("view").replaceChildren(...elements);
  }

  showFlame(tree, label) {
    const { selection } = this;
    const had = document.activeElement && document.activeElement.tagName === "CANVAS" && this.isInView(document.activeElement);
    const flame = this.newFlame(label, (path) => selection.set({ path }));
    this.put(flame.canvas);
    flame.show(tree, selection.path, this.matches, selection.colour);
    if (had) flame.canvas.focus();
  }

  isInView(element) {
    return document.getElementById("view").contains(element);
  }

  showSandwich() {
    const { selection, sums } = this;
    if (selection.func < 0) {
      const heaviest = sums.functions().reduce((a, b) => (b.self > a.self ? b : a), { id: -1, self: -1 });
      selection.func = heaviest.id;
    }
    if (selection.func < 0) return this.put(text.element("p", { textContent: "There is no function to show." }));
    const func = this.profile.functions[selection.func];
    const callers = this.newFlame("Callers, nearest at the bottom", () => {}, true);
    const callees = this.newFlame("Callees", () => {}, false);
    callers.onZoom = (path) => callers.show(callers.tree, path, this.matches, selection.colour);
    callees.onZoom = (path) => callees.show(callees.tree, path, this.matches, selection.colour);
    const title = text.element("h2", { textContent: `Callers of ${text.name(func.name)} (${text.place(func)})` });
    if (this.profile.sourceOf.has(func.file)) title.append(" ", this.sourceButton(func.file));
    this.put(title, callers.canvas,
      text.element("h2", { textContent: "What it calls" }), callees.canvas);
    callers.show(CallerTree.of(sums, this.other, selection.func), [], this.matches, selection.colour);
    callees.show(CalleeTree.of(sums, this.other, selection.func), [], this.matches, selection.colour);
  }

  sourceButton(file) {
    const button = text.element("button", { type: "button", textContent: "source" });
    button.addEventListener("click", () => this.selection.set({ view: "source", file, path: [] }));
    return button;
  }

  showTable(caption, rows, numbers, place) {
    const { functions } = this.profile;
    const columns = [
      { title: "function", value: (r) => functions[r.id].name, text: (r) => text.name(functions[r.id].name) },
      ...numbers, { title: "file", value: place, text: place }];
    const matches = this.matches;
    this.table = new Table({ caption, columns, sorted: 1, onPick: (func) => this.pick(func) });
    this.put(this.table.element);
    this.table.show(matches ? rows.filter((row) => matches(row.id)) : rows);
  }

  showFunctions() {
    const place = (row) => text.place(this.profile.functions[row.id]);
    if (this.changes) return this.showTable("Functions, new against base", this.changedFunctions(), [
      ...changeColumns("self"), ...changeColumns("total"),
      countColumn("new samples", (r) => r.now.n), countColumn("base samples", (r) => r.base.n)], place);
    const rows = this.sums.functions().filter((row) => row.total || row.self);
    this.showTable("Functions", rows, [...timeColumns("self", this.sums.us), ...timeColumns("total", this.sums.us),
      countColumn("self samples", (r) => r.n)], place);
  }

  /* pyconv's verdict on all samples, the page's own on a part of them. */
  changedFunctions() {
    const base = this.base.functions(), { whole, changes } = this, { isAll } = this.selection;
    const totals = (row) => ({ us: row.total, n: row.totalN });
    return this.now.functions().map((row, id) => ({
      id, now: row, base: base[id],
      self: isAll ? changes.ofFunction(id)
        : changes.verdict({ us: row.self, n: row.n }, { us: base[id].self, n: base[id].n }, whole),
      total: changes.verdict(totals(row), totals(base[id]), whole),
    })).filter(({ now, base: was }) => now.total || now.self || was.total || was.self);
  }

  showLines() {
    const caption = "Lines in which samples end";
    const place = (row) => {
      const { path } = this.profile.functions[row.id];
      return path === "~" ? "" : text.name(path) + (row.line > 0 ? ":" + row.line : "");
    };
    if (this.changes) return this.showTable(caption + ", new against base", this.changedLines(), [
      ...changeColumns("self"), countColumn("new samples", (r) => r.now.n), countColumn("base samples", (r) => r.base.n)], place);
    this.showTable(caption, [...this.sums.lines().values()],
      [...timeColumns("self", this.sums.us), countColumn("self samples", (r) => r.n)], place);
  }

  changedLines() {
    const now = this.now.lines(), base = this.base.lines(), { whole } = this;
    return [...new Set([...now.keys(), ...base.keys()])].map((key) => {
      const none = { self: 0, n: 0 }, [a, b] = [now.get(key) || none, base.get(key) || none];
      const self = this.changes.verdict({ us: a.self, n: a.n }, { us: b.self, n: b.n }, whole);
      const { id, line } = now.get(key) || base.get(key);
      return { id, line, now: a, base: b, self };
    });
  }

  showSource() {
    const view = new SourceView(this);
    this.table = view.table;
    this.put(view.element);
  }

  export() {
    const name = this.profile.facts.sides[0].source.replace(/[^\w.-]+/g, "_");
    if (this.table) saving.save(name + ".csv", "text/csv", this.table.csv());
    else if (this.flames.length) saving.save(name + ".svg", "image/svg+xml", saving.svg(this.flames));
  }
}

function amount(sums) {
  return `${text.seconds(sums.us)} s, ${text.count(sums.samples)} samples`;
}

(async () => {
  try {
    window.page = new Page(new Profile(await columns.read(document.getElementById("data").textContent)));
    document.body.dataset.ready = "yes";
  } catch (error) {
    document.getElementById("selected").textContent =
      `The page cannot show this profile: ${error.message}. A browser of 2023 or later is needed.`;
    throw error;
  }
})();
