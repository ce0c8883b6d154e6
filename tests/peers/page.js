// Drive a page in a browser: node page.js PAGE STEPS.json prints the results of
// the steps as a JSON list.  Whatever the page logs as an error is a failure.
const fs = require("fs");
const { chromium } = require("playwright-core");

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const [, , file, stepsFile] = process.argv;
const PATIENCE = 120000; // milliseconds, for a machine under load

const ready = (page) => page.waitForFunction(() => document.body.dataset.ready === "yes");

/* The point of the time line at a share of its range. */
async function pointOf(page, share) {
  const box = await page.locator("#lanes").boundingBox();
  const { label, room } = await page.evaluate(() => ({ label: window.page.timeline.label, room: window.page.timeline.room }));
  return [box.x + label + share * room, box.y + box.height / 2];
}

const steps = {
  open: async (page, hash) => {
    await page.goto("about:blank");
    await page.goto("file://" + file + hash);
    await ready(page);
  },
  read: (page, selector) => page.locator(selector).textContent(),
  rows: (page) => page.evaluate(() => [...document.querySelectorAll("tbody tr")]
    .map((row) => [...row.cells].map((cell) => cell.textContent))),
  unfold: async (page) => {
    for (let folds; (folds = page.locator("tr.fold button")), await folds.count();) await folds.first().click();
  },
  media: (page, media) => page.emulateMedia({ media }),
  wheel: async (page, down) => {
    const was = await page.evaluate(() => window.page.timeline.scroll);
    await page.mouse.move(...await pointOf(page, 0.5));
    await page.mouse.wheel(0, down);
    await page.waitForFunction((was) => window.page.timeline.scroll !== was, was);
  },
  label: async (page, row) => {
    const box = await page.locator("#lanes").boundingBox();
    const top = await page.evaluate((row) => window.page.timeline.events + (row + 0.5) * LANE, row);
    await page.mouse.click(box.x + 12, box.y + top);
  },
  names: (page) => page.locator("body").ariaSnapshot(),
  click: (page, selector) => page.locator(selector).click(),
  key: (page, key) => page.keyboard.press(key),
  focus: (page, selector) => page.locator(selector).focus(),
  type: (page, [selector, words]) => page.locator(selector).fill(words),
  choose: (page, [selector, label]) => page.locator(selector).selectOption({ label }),
  drag: async (page, [from, to]) => {
    await page.mouse.move(...await pointOf(page, from));
    await page.mouse.down();
    await page.mouse.move(...await pointOf(page, to), { steps: 5 });
    await page.mouse.up();
  },
  resize: (page, [width, height]) => page.setViewportSize({ width, height }),
  dark: (page) => page.emulateMedia({ colorScheme: "dark" }),
  shot: (page, path) => page.screenshot({ path }),
  value: (page, expression) => page.evaluate(expression),
  save: async (page, selector) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator(selector).click()]);
    return [download.suggestedFilename(), fs.readFileSync(await download.path(), "utf8")];
  },
};

(async () => {
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: FLAGS, timeout: PATIENCE });
  const page = await browser.newPage({ viewport: { width: 1200, height: 800 } });
  page.setDefaultTimeout(PATIENCE);
  const errors = [], requests = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("request", (request) => request.url().startsWith("file://") || request.url() === "about:blank" ||
    request.url().startsWith("blob:") || requests.push(request.url()));
  const results = [];
  for (const [step, argument] of JSON.parse(fs.readFileSync(stepsFile, "utf8")))
    results.push((await steps[step](page, argument)) ?? null);
  await browser.close();
  console.log(JSON.stringify({ results, errors, requests }));
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
