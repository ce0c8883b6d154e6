// Measure a page in a browser: node page.js PAGE ROUNDS prints a JSON
// object of milliseconds: from opening the file to the first picture, and from
// each action to the picture after it.  Each is the median of the rounds.
const { chromium } = require("playwright-core");

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const [, , file, rounds] = process.argv;

/* A task after the next frame: the picture is on the screen then. */
const settle = (page) => page.evaluate(() =>
  new Promise((done) => requestAnimationFrame(() => setTimeout(done))));

async function timed(page, act, argument) {
  return page.evaluate(async ([source, value]) => {
    const begin = performance.now();
    (0, eval)(source)(value);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    return performance.now() - begin;
  }, [act.toString(), argument]);
}

const brush = (part) => window.page.selection.set({ first: Math.floor(window.page.profile.facts.bins * part / 2),
  end: Math.ceil(window.page.profile.facts.bins * part) });
const search = (words) => window.page.selection.set({ search: words });
const show = (view) => window.page.selection.set({ view });

async function once(browser) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, bypassCSP: true });
  await page.goto("file://" + file, { waitUntil: "commit" });
  await page.waitForFunction(() => document.body && document.body.dataset.ready === "yes");
  await settle(page);
  const times = { first: [await page.evaluate(() => performance.now())], brush: [], search: [], view: [] };
  for (const part of [0.1, 0.4, 0.7, 1]) times.brush.push(await timed(page, brush, part));
  for (const words of ["h", "handle_1", "handle_12", ""]) times.search.push(await timed(page, search, words));
  for (const view of ["inverted", "sandwich", "functions", "lines", "flame"]) times.view.push(await timed(page, show, view));
  await page.close();
  return times;
}

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

(async () => {
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: FLAGS });
  const all = {};
  for (let i = 0; i < Number(rounds); i++)
    for (const [name, values] of Object.entries(await once(browser))) all[name] = [...(all[name] || []), ...values];
  await browser.close();
  console.log(JSON.stringify(Object.fromEntries(Object.entries(all).map(([name, values]) => [name, median(values)]))));
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
