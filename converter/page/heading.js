"use strict";
/* The heading: the recording, and how far to trust it. */

const LOST = ["lost_torn", "lost_moved", "lost_memory", "lost_gone", "lost_other"];

const heading = {
  write({ facts, threads }) {
    const name = text.name(facts.meta.command || facts.source);
    document.title = `${text.name(facts.source)} - profile`;
    document.getElementById("title").textContent = name;
    document.getElementById("facts").textContent = heading.facts(facts, threads);
    const { words, bad } = heading.trust(facts, threads);
    const trust = document.getElementById("trust");
    trust.textContent = words;
    trust.classList.toggle("bad", bad);
  },

  facts(facts, threads) {
    const parts = [text.name(facts.source)];
    if (facts.python !== "0.0.0") parts.push(`Python ${facts.python}`);
    if (facts.meta.host) parts.push(text.name(facts.meta.host));
    if (facts.meta.pid) parts.push(`pid ${text.name(facts.meta.pid)}`);
    if (facts.wall_us) parts.push(new Date(facts.wall_us / 1000).toISOString().replace("T", " ").slice(0, 19) + " UTC");
    parts.push(`${text.seconds(facts.duration_us)} s`, `${text.count(facts.samples)} samples`,
      `${threads.length} ${threads.length === 1 ? "thread" : "threads"}`, `mode ${facts.mode}`);
    for (const [key, value] of Object.entries(facts.meta))
      if (key.startsWith("label.")) parts.push(`${text.name(key.slice(6))}=${text.name(value)}`);
    return parts.join(" \u00b7 ");
  },

  /* Counters that the file does not have are not spoken of. */
  trust(facts, threads) {
    const count = (name) => facts.counts[name] || 0;
    const lost = LOST.reduce((sum, name) => sum + count(name), 0);
    const parts = [];
    if ("proven" in facts.counts) {
      const proven = count("proven") + count("sleeping") + count("stopped");
      parts.push(`${text.count(proven)} samples proven, ${text.count(count("unproven"))} unproven, ${text.count(lost)} lost`);
    } else {
      parts.push("The recorder did not say how its samples came about");
    }
    const ticks = count("ticks") + count("missed");
    if (ticks) parts.push(`${text.percent(count("missed"), ticks)} % of the ticks missed`);
    if (facts.unobserved_us) parts.push(`${text.seconds(facts.unobserved_us)} s not observed`);
    if (facts.left_out)
      parts.push(`${text.percent(facts.left_out_us, facts.weight_us)} % of the time is in ${text.count(facts.left_out)} stacks that are drawn without the frames between`);
    parts.push(`time bins of ${text.count(facts.bin_us / 1000)} ms`);
    if (threads.length > 1) parts.push("times of several threads add up");
    const whole = facts.samples + lost || 1;
    const bad = count("missed") > 0.1 * ticks || lost > 0.1 * whole || count("unproven") > 0.1 * whole;
    return { words: parts.join("; ") + ".", bad };
  },
};
