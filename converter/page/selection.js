"use strict";
/* The reader's choices: view, range, filters.  The address's fragment holds
 * them, so that a link shows the same. */

const VIEWS = ["flame", "inverted", "sandwich", "functions", "lines", "source"];
const COLOURS = ["class", "file", "function", "state", "change"];
const SIDES = ["new", "base"]; /* of a comparison, whose boxes are drawn */
const STATE_FILTERS = ["all", "gil", "cpu", "idle", "waiting", "exception", "main"];
const CLASS_FILTERS = ["all", "project", "site", "stdlib"];

/* Does a status pass?  The same words as pyconv --where. */
const passes = {
  all: () => true,
  gil: (s) => (s & STATUS.gil) !== 0,
  cpu: (s) => (s & STATUS.cpu) !== 0,
  idle: (s) => (s & (STATUS.gil | STATUS.cpu | STATUS.cpuUnknown)) === 0,
  waiting: (s) => (s & STATUS.waiting) !== 0,
  exception: (s) => (s & STATUS.exception) !== 0,
  main: (s) => (s & STATUS.main) !== 0,
};

class Selection {
  constructor(profile) {
    this.profile = profile;
    this.listeners = [];
    this.clear();
  }

  clear() {
    Object.assign(this, usual(this.profile));
  }

  onChange(listener) {
    this.listeners.push(listener);
  }

  /* `what` holds the names of the fields that changed. */
  set(fields) {
    const what = Object.keys(fields).filter((key) => this[key] !== fields[key]);
    if (!what.length) return;
    Object.assign(this, fields);
    this.write();
    for (const listener of this.listeners) listener(new Set(what));
  }

  get isWholeTime() {
    return this.first === 0 && this.end === this.profile.facts.bins;
  }

  get isAll() {
    return this.isWholeTime && this.state === "all" && this.class === "all" &&
      this.process < 0 && this.thread < 0;
  }

  hasThread(index) {
    const { threads } = this.profile;
    return (this.thread < 0 || this.thread === index) &&
      (this.process < 0 || threads[index].process === this.process);
  }

  write() {
    const parts = Object.entries(usual(this.profile))
      .filter(([key, value]) => asText(this[key]) !== asText(value))
      .map(([key]) => key + "=" + encodeURIComponent(asText(this[key])));
    history.replaceState(null, "", "#" + parts.join("&"));
  }

  /* A fragment is a stranger's text: unknown names and values are passed over. */
  read(fragment) {
    this.clear();
    for (const part of fragment.replace(/^#/, "").split("&")) {
      const [key, text] = part.split("=");
      const value = decode(text);
      if (key === "path") this.path = value.split(".").map(Number).filter(Number.isInteger);
      else if (key in choices && choices[key].includes(value)) this[key] = value;
      else if (key === "search") this.search = value;
      else if (key in limits) this[key] = limits[key](Number(value), this);
    }
    if (this.end <= this.first) {
      this.first = 0;
      this.end = this.profile.facts.bins;
    }
    if (!this.profile.isDiff && this.colour === "change") this.colour = "class";
  }
}

/* The selection that a page begins with. */
function usual(profile) {
  return {
    view: "flame", first: 0, end: profile.facts.bins, state: "all",
    class: "all", process: -1, thread: -1, colour: profile.isDiff ? "change" : "class",
    side: "new", search: "", func: -1, file: -1, path: [],
  };
}

function asText(value) {
  return Array.isArray(value) ? value.join(".") : String(value);
}

const choices = { view: VIEWS, state: STATE_FILTERS, class: CLASS_FILTERS, colour: COLOURS, side: SIDES };

function within(least, most, usual) {
  return (value, selection) =>
    Number.isInteger(value) && value >= least && value <= most(selection) ? value : usual(selection);
}
const bins = (s) => s.profile.facts.bins;
const limits = {
  first: within(0, (s) => bins(s) - 1, () => 0),
  end: within(1, bins, bins),
  process: within(-1, (s) => s.profile.facts.processes.length - 1, () => -1),
  thread: within(-1, (s) => s.profile.threads.length - 1, () => -1),
  func: within(-1, (s) => s.profile.functions.length - 1, () => -1),
  file: within(-1, (s) => s.profile.facts.files.length / 2 - 1, () => -1),
};

function decode(text) {
  try {
    return decodeURIComponent(text || "");
  } catch {
    return "";
  }
}
