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
      flame: () => this.showFlame(CalleeTree.whole(this.sums), "Flame graph, callers above callees"),
      inverted: () => this.showFlame(CallerTree.whole(this.sums), "Inverted flame graph, callees above callers"),
      sandwich: () => this.showSandwich(),
      functions: () => this.showFunctions(),
      lines: () => this.showLines(),
    };
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

  makeSums() {
    this.sums = new Sums(this.profile, this.calls, this.selection);
  }

  update(what) {
    if (what.has("class")) this.makeCalls();
    if (["first", "end", "state", "class", "process", "thread"].some((key) => what.has(key))) this.makeSums();
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
    this.addChoice("colour", COLOURS.map((name) => [name, name]));
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
    for (const field of ["state", "class", "process", "thread", "colour", "search"])
      document.getElementById(field).value = selection[field];
    document.querySelectorAll("#views button").forEach((button) =>
      button.setAttribute("aria-selected", String(button.textContent === selection.view)));
    tip.hide();
    this.timeline.draw();
    this.flames = [];
    this.table = null;
    this.views[selection.view]();
    this.say();
  }

  say() {
    const { facts } = this.profile, { selection, sums } = this;
    const parts = [`${text.seconds(sums.us)} s, ${text.count(sums.samples)} samples selected`];
    if (!selection.isWholeTime)
      parts.push(`from ${text.seconds(selection.first * facts.bin_us)} s to ${text.seconds(Math.min(selection.end * facts.bin_us, this.profile.duration))} s`);
    if (this.matches) {
      const us = sums.withMatch(this.matches);
      parts.push(`${text.seconds(us)} s (${text.percent(us, sums.us)} %) with "${text.name(selection.search)}"`);
    }
    if (sums.us === 0) parts.push("nothing passes the filters");
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
      profile: this.profile, colours: this.colours, label, onZoom, up,
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
    this.put(text.element("h2", { textContent: `Callers of ${text.name(func.name)} (${text.place(func)})` }), callers.canvas,
      text.element("h2", { textContent: "What it calls" }), callees.canvas);
    callers.show(CallerTree.of(sums, selection.func), [], this.matches, selection.colour);
    callees.show(CalleeTree.of(sums, selection.func), [], this.matches, selection.colour);
  }

  showTable(caption, rows, fields, place) {
    const { functions } = this.profile;
    const columns = [...numberColumns(this.sums.us, fields),
      { title: "function", value: (r) => functions[r.id].name, text: (r) => text.name(functions[r.id].name) },
      { title: "file", value: place, text: place }];
    const matches = this.matches;
    this.table = new Table({ caption, columns, sorted: 0, onPick: (func) => this.pick(func) });
    this.put(this.table.element);
    this.table.show(matches ? rows.filter((row) => matches(row.id)) : rows);
  }

  showFunctions() {
    this.showTable("Functions", this.sums.functions(), ["self", "total"],
      (row) => text.place(this.profile.functions[row.id]));
  }

  showLines() {
    const place = (row) => {
      const { path } = this.profile.functions[row.id];
      return path === "~" ? "" : text.name(path) + (row.line > 0 ? ":" + row.line : "");
    };
    this.showTable("Lines in which samples end", this.sums.lines(), ["self"], place);
  }

  export() {
    const name = this.profile.facts.source.replace(/[^\w.-]+/g, "_");
    if (this.table) saving.save(name + ".csv", "text/csv", this.table.csv());
    else saving.save(name + ".svg", "image/svg+xml", saving.svg(this.flames));
  }
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
