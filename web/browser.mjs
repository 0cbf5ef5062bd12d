// node browser.mjs CHROMIUM REPORT.html DAMAGED.html PICTURES: opens reports from disk and uses their live part.
// Prints what it saw as JSON; tests/live/test_page.py judges it.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [, , executablePath, report, damaged, pictures] = process.argv;
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
const seen = { errors: [], requests: [] };
page.on("console", (message) => message.type() === "error" && seen.errors.push(message.text()));
page.on("pageerror", (error) => seen.errors.push(String(error)));
page.on("request", (request) => /^(blob|data):/.test(request.url()) || seen.requests.push(request.url()));

const canvas = (k) => page.locator("#live canvas").nth(k);
const frame = () => page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
const picture = async () => {
  await frame();
  return canvas(0).evaluate((one) => one.toDataURL());
};
const colours = (k) =>
  canvas(k).evaluate((one) => {
    const { data } = one.getContext("2d").getImageData(0, 0, one.width, one.height);
    return new Set(new Uint32Array(data.buffer)).size;
  });
const checked = () => page.locator("#live-check.chip").textContent();
const overflow = (selector) => page.locator(selector).evaluate((one) => one.scrollWidth - one.clientWidth);
const shot = (name) => pictures && page.screenshot({ path: join(pictures, name) });

await page.goto(pathToFileURL(report).href);
await page.locator("html.live").waitFor();
const cells = page.locator("td[data-cell]");
await cells.first().click();
seen.check = await checked();
seen.title = await page.locator("#live-title").textContent();
seen.status = await page.locator("#live-status").textContent();
seen.command = await page.locator("#live-command").textContent();
seen.totals = await page.locator("#live-totals").textContent();
seen.colours = [await colours(0), await colours(1), await colours(2)];
await shot("wide.png");

const whole = await picture();
const box = await canvas(0).boundingBox();
await page.mouse.move(box.x + 0.3 * box.width, box.y + 50);
await frame();
seen.hover = await page.locator("#live .values").first().textContent();
await page.mouse.down();
await page.mouse.move(box.x + 0.5 * box.width, box.y + 60, { steps: 4 });
await page.mouse.up();
await page.mouse.move(5, 5);
seen.dragZooms = (await picture()) !== whole;
await page.locator("#live-reset").click();
await page.mouse.move(5, 5);
seen.resetShowsAll = (await picture()) === whole;
await page.locator("#live .legend button").first().click();
seen.legendHides = (await picture()) !== whole;
await page.locator("#live .legend button").first().click();

// A sentence of the explanation shows its moment.
const sentence = page.locator("#live-waits > li > button").first();
const plain0 = await picture();
await sentence.click();
const zoomedIn = await picture();
await page.locator("#live-waits ul button").first().click();
seen.explained = [await sentence.textContent(), zoomedIn !== plain0, (await picture()) !== zoomedIn];
await page.locator("#live-reset").click();

// By keyboard alone: close, go to the next cell, open it, zoom, pan, reset.
await page.keyboard.press("Escape");
seen.escapeCloses = !(await page.locator("#live").evaluate((one) => one.open));
seen.focusReturns = await cells.first().evaluate((one) => one.contains(document.activeElement));
await cells.last().locator("button").focus();
await page.keyboard.press("Enter");
seen.keyboardCheck = await checked();
for (let k = 0; k < 40; k++) {
  if (await canvas(0).evaluate((one) => one === document.activeElement)) break;
  await page.keyboard.press("Tab");
}
const before = await picture();
await page.keyboard.press("+");
const zoomed = await picture();
await page.keyboard.press("ArrowRight");
const panned = await picture();
await page.keyboard.press("0");
seen.keyboard = [zoomed !== before, panned !== zoomed, (await picture()) === before];

// Every figure shows one of its two drawings, no wider than its column, in text that can be read.
seen.figures = [];
await page.keyboard.press("Escape");
for (const width of [360, 700, 1000, 1280, 1800]) {
  await page.setViewportSize({ width, height: 900 });
  seen.figures.push(
    ...(await page.locator("figure .drawn").evaluateAll((all, width) => all.map((one) => {
      const shown = [...one.children].filter((svg) => svg.getClientRects().length > 0);
      const [svg] = shown;
      const text = svg.querySelector("text");
      const size = (parseFloat(getComputedStyle(text).fontSize) * svg.clientWidth) / svg.viewBox.baseVal.width;
      return { width, shown: shown.length, over: one.scrollWidth - one.clientWidth, size };
    }), width)),
  );
}
await page.setViewportSize({ width: 1280, height: 900 });
await cells.last().click();
seen.claimsOfCell = await page.locator("#live-claims").textContent();

await page.setViewportSize({ width: 390, height: 844 });
seen.narrow = [await overflow("#live"), await overflow("html")];
await shot("narrow.png");

await page.keyboard.press("Escape");
await page.setViewportSize({ width: 1280, height: 900 });
const claim = page.locator("article[data-claim]").first();
await claim.locator("summary").click();
await claim.locator(".rests a").first().click();
seen.trail = [await page.locator("#claim-trail-text").textContent(), await page.locator("td.of-claim:visible").count(), await claim.getAttribute("id")];
await page.locator("#claim-back").click();
seen.trail.push(await page.evaluate(() => document.activeElement.id), await page.locator("td.of-claim").count());

await page.goto(pathToFileURL(damaged).href);
await page.locator("html.live").waitFor();
await cells.first().click();
seen.damaged = await checked();
await page.keyboard.press("Escape");
const rows = () => page.locator("table.grid tbody tr:visible").count();
const differs = page.locator(".count[data-verdict=differs] button");
seen.rows = [await rows(), await page.locator("table.grid tbody tr", { has: page.locator("td.differs") }).count()];
await differs.click();
seen.rows.push(await rows());
await differs.click();
seen.rows.push(await rows());

const first = () => page.locator("table.grid tbody tr td > b").first().textContent();
const heading = page.locator("table.grid th.value .sort").first();
seen.sorted = [];
for (let k = 0; k < 2; k++) {
  await heading.click();
  seen.sorted.push(Number(await first()), await page.locator("table.grid th.value").first().getAttribute("aria-sort"));
}
await shot("report.png");
await page.setViewportSize({ width: 390, height: 844 });
seen.smallest = await page.evaluate(() => {
  const shown = [...document.querySelectorAll("body *")].filter((one) => one.getClientRects().length && !one.closest("svg"));
  return Math.min(...shown.map((one) => parseFloat(getComputedStyle(one).fontSize)));
});

const plain = await browser.newPage({ javaScriptEnabled: false });
await plain.goto(pathToFileURL(report).href);
seen.withoutScripts = (await plain.locator("td > b").first().isVisible()) && !(await plain.locator("#live").isVisible());
await browser.close();
console.log(JSON.stringify(seen));
