// The same as page.js in Firefox, by WebDriver BiDi: node firefox.js PAGE
// STEPS.json prints the results of the steps as a JSON list.
const fs = require("fs");
const puppeteer = require("puppeteer-core");

const [, , file, stepsFile] = process.argv;
const PATIENCE = 120000; // milliseconds, for a machine under load

const steps = {
  open: async (page, hash) => {
    await page.goto("about:blank");
    await page.goto("file://" + file + hash);
    await page.waitForFunction(() => document.body.dataset.ready === "yes");
  },
  read: (page, selector) => page.$eval(selector, (element) => element.textContent),
  rows: (page) => page.$$eval("tbody tr", (rows) => rows.map((row) =>
    [...row.cells].map((cell) => cell.textContent))),
  key: (page, key) => page.keyboard.press(key),
  focus: (page, selector) => page.focus(selector),
  type: (page, [selector, words]) => page.type(selector, words),
  drag: async (page, [from, to]) => {
    const [left, top, width] = await page.evaluate(() => {
      const box = document.getElementById("lanes").getBoundingClientRect(), { timeline } = window.page;
      return [box.left + timeline.label, box.top + box.height / 2, timeline.room];
    });
    await page.mouse.move(left + from * width, top);
    await page.mouse.down();
    await page.mouse.move(left + to * width, top, { steps: 5 });
    await page.mouse.up();
  },
  resize: (page, [width, height]) => page.setViewport({ width, height }),
  value: (page, expression) => page.evaluate(expression),
};

(async () => {
  const browser = await puppeteer.launch({ browser: "firefox", executablePath: "/usr/bin/firefox-esr", headless: true,
    timeout: PATIENCE });
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE);
  await page.setViewport({ width: 1200, height: 800 });
  const errors = [], results = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  for (const [step, argument] of JSON.parse(fs.readFileSync(stepsFile, "utf8")))
    results.push((await steps[step](page, argument)) ?? null);
  await browser.close();
  console.log(JSON.stringify({ results, errors, requests: [] }));
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
