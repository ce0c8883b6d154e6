"use strict";
/* The heading: the recording, and how far to trust it. */

const heading = {
  write({ facts, threads, isDiff }) {
    const [side, base] = facts.sides;
    const name = text.name(side.command || facts.meta.command || side.source);
    document.title = isDiff ? `${text.name(side.source)} against ${text.name(base.source)}` : `${text.name(side.source)} - profile`;
    document.getElementById("title").textContent = name;
    document.getElementById("facts").textContent = heading.facts(facts, threads);
    document.getElementById("base").textContent = isDiff ? heading.base(facts) : "";
    const trust = document.getElementById("trust"), parts = facts.sides.map(heading.trust);
    trust.textContent = heading.trustOf(parts);
    document.getElementById("limits").textContent = heading.limits(facts, threads);
    trust.classList.toggle("bad", parts.some(({ bad }) => bad));
  },

  sideFacts(side) {
    const parts = [text.name(side.source)];
    if (side.python !== "0.0.0") parts.push(`Python ${side.python}`);
    parts.push(`${text.seconds(side.duration_us)} s`, `${text.count(side.samples)} samples`);
    return parts;
  },

  facts(facts, threads) {
    const parts = heading.sideFacts(facts.sides[0]), isDiff = facts.sides.length > 1;
    const meta = isDiff ? {} : facts.meta; /* both sides' */
    if (meta.host) parts.push(text.name(meta.host));
    if (meta.pid) parts.push(`pid ${text.name(meta.pid)}`);
    if (facts.wall_us && !isDiff) parts.push(new Date(facts.wall_us / 1000).toISOString().replace("T", " ").slice(0, 19) + " UTC");
    const n = threads.filter((thread) => !thread.side).length;
    parts.push(text.number(n, "thread"), `mode ${facts.mode}`);
    for (const [key, value] of Object.entries(meta))
      if (key.startsWith("label.")) parts.push(`${text.name(key.slice(6))}=${text.name(value)}`);
    return parts.join(" \u00b7 ");
  },

  base(facts) {
    const { compare } = facts;
    const parts = [`compared with ${heading.sideFacts(facts.sides[1]).join(" \u00b7 ")}.`];
    if (compare.centre !== 1)
      parts.push(`Against the base all functions took ${compare.centre.toFixed(2)} times their seconds; marks are relative to that.`);
    parts.push("A mark (\u25b2 worse, \u25bc better, + new, \u2212 gone) is a difference larger than the noise between two recordings of one program; with one recording a side it is a hint, not a proof.");
    return parts.join(" ");
  },

  /* Counters that the file does not have are not spoken of. */
  trust(side) {
    const count = (name) => side.counts[name] || 0;
    const losses = Object.keys(side.counts).filter((name) => name.startsWith("lost_"));
    const lost = losses.reduce((sum, name) => sum + count(name), 0);
    const parts = [];
    const known = (...names) => names.some((name) => name in side.counts);
    const proven = count("proven") + count("sleeping") + count("stopped");
    if (known("proven", "sleeping", "stopped")) parts.push(`${text.count(proven)} proven`);
    if (known("unproven")) parts.push(`${text.count(count("unproven"))} unproven`);
    if (losses.length) parts.push(`${text.count(lost)} lost`);
    if (!parts.length) parts.push("the recorder did not say how its samples were taken");
    const ticks = count("ticks") + count("missed");
    if (ticks) parts.push(`${text.percent(count("missed"), ticks)} % of the ticks missed`);
    if (side.unobserved_us) parts.push(`${text.seconds(side.unobserved_us)} s unobserved`);
    const whole = side.samples + lost || 1;
    const bad = count("missed") > 0.1 * ticks || lost > 0.1 * whole || count("unproven") > 0.1 * whole;
    return { words: parts.join(", "), bad };
  },

  trustOf(parts) {
    const [side, base] = parts.map(({ words }) => words);
    return base ? `Recorded: new ${side}; base ${base}.` : `Recorded: ${side}.`;
  },

  /* How fine the page is, and what it lacks. */
  limits(facts, threads) {
    const whole = facts.sides.reduce((sum, side) => sum + side.weight_us, 0);
    const parts = [`Time in bins of ${text.count(facts.bin_us / 1000)} ms`];
    if (facts.left_out)
      parts.push(`${text.percent(facts.left_out_us, whole)} % of the time, in ${text.count(facts.left_out)} light stacks, is drawn without the frames between, as callers and callees, too`);
    else
      parts.push("every stack is drawn");
    if (threads.length > 1) parts.push("times of several threads add up");
    return parts.join("; ") + ".";
  },
};
