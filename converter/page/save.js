"use strict";
/* The shown picture as SVG, the shown table as CSV. */

const saving = {
  save(name, type, content) {
    const link = text.element("a", {
      href: URL.createObjectURL(new Blob([content], { type })), download: name,
    });
    link.click();
    URL.revokeObjectURL(link.href);
  },

  /* RFC 4180; a field that a spreadsheet would take for a formula is text. */
  csv(rows) {
    const quote = (field) => {
      const safe = /^[=+\-@\t]/.test(field) && Number.isNaN(Number(field)) ? "'" + field : field;
      return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
    };
    return rows.map((row) => row.map((field) => quote(String(field))).join(",")).join("\r\n") + "\r\n";
  },

  svg(flames) {
    const serializer = new XMLSerializer();
    const space = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(space, "svg");
    let height = 0, width = 0;
    for (const flame of flames) {
      for (const box of flame.boxes) svg.append(saving.box(space, flame, box, height));
      height += flame.rows * ROW + 8;
      width = Math.max(width, flame.canvas.clientWidth);
    }
    set(svg, { viewBox: `0 0 ${width} ${height}`, width, height, "font-family": "sans-serif", "font-size": 12 });
    return serializer.serializeToString(svg);
  },

  box(space, flame, box, down) {
    const make = (tag, fields) => set(document.createElementNS(space, tag), fields);
    const group = make("g", {}), y = down + flame.top(box);
    const title = make("title", {});
    title.textContent = xmlText(flame.describe(box.group));
    group.append(title, make("rect", {
      x: box.x.toFixed(2), y, width: Math.max(box.width - 1, 0.5).toFixed(2), height: ROW - 1,
      fill: flame.colourOf(box.group),
    }));
    const room = Math.floor((box.width - 6) / 7);
    if (room > 2) {
      const label = make("text", { x: (box.x + 3).toFixed(2), y: y + ROW - 6 });
      label.textContent = xmlText(flame.nameOf(box.group)).slice(0, room);
      group.append(label);
    }
    return group;
  },
};

function set(element, fields) {
  for (const [key, value] of Object.entries(fields)) element.setAttribute(key, value);
  return element;
}

/* XML 1.0 has no place for these, escaped or not. */
function xmlText(words) {
  return words.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd]/g, (c) =>
    (c >= "\ud800" && c <= "\udfff" ? c : "\ufffd")).toWellFormed();
}
