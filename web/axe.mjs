// node axe.mjs CHROMIUM PAGE …: what axe-core finds wrong with pages, on a wide screen and a telephone, light and dark,
// with all folds open, and with a cell run if the page can. Prints it as JSON; tests/live/test_accessible.py judges it.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const [, , executablePath, ...files] = process.argv;
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const found = [];
// The dark scheme changes colours alone.
const rules = {
  light: { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] },
  dark: { type: "rule", values: ["color-contrast", "link-in-text-block"] },
};
for (const file of files) {
  const page = await browser.newPage({ bypassCSP: true });
  page.setDefaultTimeout(240_000); // for a busy machine
  const check = async (where) => {
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      const { violations } = await page.evaluate((runOnly) => axe.run({ runOnly }), rules[colorScheme]);
      for (const { id, nodes } of violations) {
        found.push({ file, colorScheme, where, id, nodes: nodes.length, first: `${nodes[0].html.slice(0, 300)} ${nodes[0].failureSummary}` });
      }
    }
  };
  for (const width of [1280, 400]) {
    await page.setViewportSize({ width, height: 900 });
    await page.goto(pathToFileURL(file).href);
    if (await page.locator("#explore-controls").count()) await page.locator("#live-status", { hasText: /^Shown/ }).waitFor();
    await page.evaluate(axe);
    await page.locator("details").evaluateAll((all) => all.forEach((one) => (one.open = true)));
    await check(width);
  }
  const number = page.locator("td > b > button").first();
  if (await number.count()) {
    await number.click();
    await page.locator("#live-check.chip").waitFor();
    await check("dialog");
  }
  await page.close();
}
await browser.close();
console.log(JSON.stringify(found));
