"use strict";
/* Tables of functions and of lines: sorted by any column, the first rows at
 * once, more when they are asked for. */

const ROWS_AT_ONCE = 200;

class Table {
  /* columns: {title, number, value(row), text(row)}. */
  constructor({ columns, caption, sorted, onPick }) {
    Object.assign(this, { columns, caption, sorted, onPick });
    this.shown = ROWS_AT_ONCE;
    this.element = text.element("div", { className: "scroll" });
  }

  show(rows) {
    this.rows = rows;
    this.draw();
  }

  sort(column) {
    this.sorted = column;
    this.draw();
  }

  get sortedRows() {
    const { value, number } = this.columns[this.sorted];
    const order = number ? (a, b) => value(b) - value(a)
      : (a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0);
    return this.rows.slice().sort(order);
  }

  draw() {
    const rows = this.sortedRows;
    const table = text.element("table", {},
      text.element("caption", { textContent: this.caption }), this.head(),
      text.element("tbody", {}, ...rows.slice(0, this.shown).map((row) => this.row(row))));
    this.element.replaceChildren(table);
    if (rows.length > this.shown) this.element.append(this.moreButton(rows.length));
  }

  head() {
    const cells = this.columns.map((column, i) => {
      const button = text.element("button", { type: "button", textContent: column.title });
      button.addEventListener("click", () => this.sort(i));
      const cell = text.element("th", { scope: "col", className: column.number ? "number" : "" }, button);
      if (i === this.sorted) cell.setAttribute("aria-sort", column.number ? "descending" : "ascending");
      return cell;
    });
    return text.element("thead", {}, text.element("tr", {}, ...cells));
  }

  row(row) {
    const cells = this.columns.map((column) => text.element("td", {
      className: column.kind ? "verdict " + column.kind(row) : column.number ? "number" : "name",
      textContent: column.text(row), title: column.number ? "" : column.text(row),
    }));
    const element = text.element("tr", { tabIndex: 0 }, ...cells);
    element.addEventListener("click", () => this.onPick(row.id));
    element.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.onPick(row.id);
    });
    return element;
  }

  moreButton(all) {
    const button = text.element("button", {
      type: "button", textContent: `${text.count(all - this.shown)} rows more`,
    });
    button.addEventListener("click", () => {
      this.shown *= 10;
      this.draw();
    });
    return button;
  }

  csv() {
    return saving.csv([this.columns.map((column) => column.title),
      ...this.sortedRows.map((row) => this.columns.map((column) => (column.csv || column.text)(row)))]);
  }
}

/* Columns of several tables; `field` is "self" or "total". */
function timeColumns(field, whole) {
  return [
    { title: field + " s", number: true, value: (r) => r[field], text: (r) => text.seconds(r[field]) },
    { title: field + " %", number: true, value: (r) => r[field], text: (r) => text.percent(r[field], whole) },
  ];
}

function countColumn(title, value) {
  return { title, number: true, value, text: (r) => String(value(r)) };
}

/* Rows are {now, base}, and under the field's name the verdict on it.  The
 * mark's column sorts the marked differences first. */
function changeColumns(field) {
  const step = (r) => r.now[field] - r.base[field];
  return [
    { title: "new " + field + " s", number: true, value: (r) => r.now[field], text: (r) => text.seconds(r.now[field]) },
    { title: "base " + field + " s", number: true, value: (r) => r.base[field], text: (r) => text.seconds(r.base[field]) },
    { title: field + " change", number: true, value: step, text: (r) => changeText(r.now[field], r.base[field]),
      csv: (r) => (r.base[field] ? (100 * (r.now[field] / r.base[field] - 1)).toFixed(1) : "") },
    { title: field + " mark", number: true, value: (r) => (r[field] ? 1 + Math.abs(step(r)) : 0),
      text: (r) => (r[field] ? `${MARKS[r[field]]} ${r[field]}` : ""), csv: (r) => r[field], kind: (r) => r[field] },
  ];
}
