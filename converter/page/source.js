"use strict";
/* The source of a file with the time of each line.  Lines far from all time
 * are folded. */

const NEAR = 6; /* lines that stay around one with time */

class SourceView {
  constructor(page) {
    this.page = page;
    this.profile = page.profile;
    this.element = text.element("div", { className: "source" });
    this.files = this.filesByTime();
    const file = this.chosen();
    if (file === undefined) {
      this.element.append(text.element("p", { className: "empty", textContent: this.reason() }));
      return;
    }
    this.element.append(this.choice(file), text.element("p", { className: "quiet", textContent: this.reason() }));
    this.table = new SourceTable(page, file);
    this.element.append(this.table.element);
  }

  /* Files with a text, the one with the most time first. */
  filesByTime() {
    const us = new Map();
    for (const row of this.page.sums.functions()) {
      const { file } = this.profile.functions[row.id];
      if (this.profile.sourceOf.has(file)) us.set(file, (us.get(file) || 0) + row.self);
    }
    return [...us].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  }

  chosen() {
    const { file } = this.page.selection;
    if (this.profile.sourceOf.has(file)) return file;
    return this.files.length ? this.files[0][0] : undefined;
  }

  choice(chosen) {
    const select = text.element("select", { id: "file" });
    for (const [file, us] of this.files)
      select.append(text.element("option", {
        value: file, textContent: `${text.name(this.profile.facts.files[2 * file])} (${text.seconds(us)} s)`,
      }));
    select.value = chosen;
    select.addEventListener("change", () => this.page.selection.set({ file: Number(select.value) }));
    return text.element("label", {}, "file ", select);
  }

  /* The sources that are in the page. */
  reason() {
    const { sources } = this.profile.facts;
    if (!sources) return "The page holds no source. pyconv --to html --source DIR puts the files below DIR into it.";
    const parts = [`The page holds ${text.number(sources.texts.length, "source file")}`];
    if (this.page.changes) parts[0] += "; lines of the base stand where the base had them";
    if (sources.missing) parts.push(`not found: ${text.count(sources.missing)}`);
    if (sources.other) parts.push(`without all lines that ran, so of another version: ${text.count(sources.other)}`);
    if (sources.large) parts.push(`too large: ${text.count(sources.large)}`);
    return parts.join("; ") + ".";
  }
}

class SourceTable {
  constructor(page, file) {
    const { profile } = page;
    this.page = page;
    this.lines = profile.sourceOf.get(file).split("\n");
    this.rows = page.sums.linesOf(file);
    this.base = page.changes && page.base.linesOf(file);
    this.now = page.changes && page.now.linesOf(file);
    this.most = Math.max(1, ...[...this.rows.values()].map((row) => row.total));
    this.body = text.element("tbody", {});
    this.element = text.element("div", { className: "scroll" }, text.element("table", {},
      text.element("caption", { textContent: text.name(profile.facts.files[2 * file]) }), this.head(), this.body));
    this.fill();
  }

  get titles() {
    return this.base ? ["line", "new self s", "base self s", "change", "mark", "new total s", "base total s"]
      : ["line", "self s", "total s"];
  }

  head() {
    const cells = this.titles.map((title) => text.element("th", { scope: "col", className: "number", textContent: title }));
    return text.element("thead", {}, text.element("tr", {}, ...cells, text.element("th", { scope: "col", textContent: "source" })));
  }

  isNear(line) {
    for (let i = line - NEAR; i <= line + NEAR; i++)
      if (this.rows.has(i) || (this.base && (this.base.has(i) || this.now.has(i)))) return true;
    return false;
  }

  fill() {
    for (let line = 1; line <= this.lines.length; line++) {
      const first = line;
      while (line <= this.lines.length && !this.isNear(line)) line++;
      if (line - first > NEAR) this.body.append(this.fold(first, line));
      else for (let i = first; i < line; i++) this.body.append(this.row(i));
      if (line <= this.lines.length) this.body.append(this.row(line));
    }
  }

  /* One row in place of the lines [first, end). */
  fold(first, end) {
    const button = text.element("button", { type: "button", textContent: `${text.count(end - first)} lines without time` });
    const row = text.element("tr", { className: "fold" }, text.element("td", { colSpan: this.titles.length + 1 }, button));
    button.addEventListener("click", () => {
      const rows = [];
      for (let i = first; i < end; i++) rows.push(this.row(i));
      row.replaceWith(...rows);
    });
    return row;
  }

  numbers(line) {
    const none = { self: 0, total: 0, n: 0 }, seconds = (us) => (us ? text.seconds(us) : "");
    if (!this.base) {
      const { self, total } = this.rows.get(line) || none;
      return [line, seconds(self), seconds(total)];
    }
    const now = this.now.get(line) || none, base = this.base.get(line) || none;
    const verdict = this.page.changes.verdict({ us: now.self, n: now.n }, { us: base.self, n: base.n }, this.page.whole);
    return [line, seconds(now.self), seconds(base.self), changeText(now.self, base.self),
      verdict ? `${MARKS[verdict]} ${verdict}` : "", seconds(now.total), seconds(base.total)];
  }

  row(line) {
    const cells = this.numbers(line).map((words) => text.element("td", { className: "number", textContent: words }));
    const { self, total } = this.rows.get(line) || { self: 0, total: 0 };
    const code = text.element("td", { className: "code", textContent: text.code(this.lines[line - 1]) });
    code.style.setProperty("--self", (100 * self / this.most).toFixed(1) + "%");
    code.style.setProperty("--total", (100 * total / this.most).toFixed(1) + "%");
    return text.element("tr", {}, ...cells, code);
  }

  csv() {
    const rows = this.lines.map((words, i) => [...this.numbers(i + 1), text.code(words)]);
    return saving.csv([[...this.titles, "source"], ...rows]);
  }
}
