"use strict";
/* Numbers and names as text. */

const text = {
  seconds(us) {
    return (us / 1e6).toFixed(3);
  },

  percent(part, whole) {
    return whole ? (100 * part / whole).toFixed(2) : "0.00";
  },

  count(n) {
    return n.toLocaleString("en-US");
  },

  /* "1 thread", "2 threads" */
  number(n, thing) {
    return `${text.count(n)} ${thing}${n === 1 ? "" : "s"}`;
  },

  /* A name on one line: a character without a shape of its own is shown as its
   * number, so that no name looks like another or turns the line around. */
  name(name) {
    return name.replace(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu,
      (c) => "\\u" + c.codePointAt(0).toString(16).padStart(4, "0"));
  },

  /* A line of source: tabs and spaces stay. */
  code(line) {
    return line.replace(/\r$/, "").replace(/[^\t]+/g, (part) => text.name(part));
  },

  place(func) {
    if (func.kind === "special" && func.path === "~") return "";
    return text.name(func.path) + (func.line > 0 ? ":" + func.line : "");
  },

  element(tag, fields, ...children) {
    const element = document.createElement(tag);
    Object.assign(element, fields);
    element.append(...children);
    return element;
  },
};

/* The page's type on a canvas. */
function cssFont(size) {
  return `${size}px ${getComputedStyle(document.body).fontFamily}`;
}

/* A colour of page.css. */
function cssColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

/* The colour of a function's box: by class of its path, or by a hash. */
class Colours {
  constructor(profile) {
    this.profile = profile;
    this.forget();
  }

  /* After a change between light and dark. */
  forget() {
    this.known = {};
  }

  named(name) {
    this.known[name] = this.known[name] || cssColour(name);
    return this.known[name];
  }

  of(func, by) {
    if (func < 0) return this.named("other");
    const { kind, path, name } = this.profile.functions[func];
    if (by === "class") return this.named(kind);
    let hash = 0;
    for (const c of by === "file" ? path : path + name) hash = (hash * 31 + c.codePointAt(0)) | 0;
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    return `hsl(${(hash >>> 0) % 360} 45% ${dark ? 40 : 70}%)`;
  }
}
