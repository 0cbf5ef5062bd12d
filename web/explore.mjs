// node explore.mjs CHROMIUM PAGE NOTEBOOK LESSON PICTURES: opens a page of controls, one that shows it in a frame, and a lesson.
// Prints what it saw as JSON; tests/explore/test_explore_page.py judges it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [, , executablePath, address, notebook, lesson, pictures] = process.argv;
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
const seen = { errors: [], requests: [] };
page.on("console", (message) => message.type() === "error" && seen.errors.push(message.text()));
page.on("pageerror", (error) => seen.errors.push(String(error)));
page.on("request", (request) => /^(blob|data):/.test(request.url()) || seen.requests.push(request.url()));

const status = page.locator("#live-status");
const shown = () => page.locator("#live-status", { hasText: /^Shown/ }).waitFor();
/** Does something that changes the setting, and waits for its picture. */
const change = async (act) => {
  await status.evaluate((one) => (one.textContent = ""));
  await act();
  await shown();
};
const canvas = (k) => page.locator("canvas").nth(k);
const picture = async (k = 0) => {
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  return canvas(k).evaluate((one) => one.toDataURL());
};
const hash = () => page.evaluate(() => location.hash);
const totals = () => page.locator("#live-totals").innerText();

await page.goto(address);
await shown();
const atStart = [await picture(), await totals(), await hash()];

// Drag the slider of the rate to its end.
const rate = page.locator("#control-rate");
const box = await rate.boundingBox();
await change(async () => {
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - 2, box.y + box.height / 2, { steps: 3 });
  await page.mouse.up();
});
await page.waitForFunction(() => location.hash.includes("rate="));
await shown();
seen.dragged = [await hash(), await page.locator("#control-rate-value").textContent(), (await picture()) !== atStart[0]];

// By keyboard: back to the middle.
await rate.focus();
for (let k = 0; k < 2; k++) await change(() => page.keyboard.press("ArrowLeft"));
seen.keyboardReturns = [(await picture()) === atStart[0], await hash()];

await page.locator("#explore-compare").check();
await change(() => page.selectOption("#control-cc", { label: "bbr3" }));
seen.compared = [await hash(), await totals()];
const legends = () => page.locator(".legend").evaluateAll((all) => all.map((one) => [...one.children].map(({ lastChild }) => lastChild.textContent)));
seen.overlay = await legends();
const both = await picture(2);
await page.locator(".legend").nth(2).getByRole("button", { name: "B", exact: true }).click();
seen.hides = (await picture(2)) !== both;
await page.locator(".legend").nth(2).getByRole("button", { name: "B", exact: true }).click();
seen.hides &&= (await picture(2)) === both;
if (pictures) await page.screenshot({ path: join(pictures, "explore.png") });

const overlaid = await picture();
await canvas(0).focus();
await page.keyboard.press("+");
seen.zooms = (await picture()) !== overlaid;
await page.keyboard.press("0");

const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#explore-export").click()]);
seen.file = [download.suggestedFilename(), readFileSync(await download.path(), "utf8")];

// The address alone brings the setting back.
const link = await page.evaluate(() => location.href);
const other = await browser.newPage();
await other.goto(link);
await other.locator("#live-status", { hasText: /^Shown/ }).waitFor();
seen.fromLink = (await other.locator("#live-totals").innerText()) === seen.compared[1];
await other.setViewportSize({ width: 390, height: 844 });
seen.narrow = await other.locator("html").evaluate((one) => one.scrollWidth - one.clientWidth);
seen.smallest = await other.evaluate(() =>
  Math.min(...[...document.querySelectorAll("body *")].filter((one) => one.getClientRects().length).map((one) => parseFloat(getComputedStyle(one).fontSize))),
);
if (pictures) await other.screenshot({ path: join(pictures, "explore-narrow.png"), fullPage: true });
// On a telephone one graph is shown, and stays in view while the last slider is moved.
seen.graphs = await other.locator("canvas:visible").count();
await other.locator("#explore-controls :is(input, select):visible").last().evaluate((one) => one.scrollIntoView({ block: "center" }));
seen.beside = await other.locator("canvas:visible").evaluate((one) => [one.getBoundingClientRect().top, one.getBoundingClientRect().bottom]);
await other.locator(".switch button", { hasText: "Queue" }).click();
seen.switched = await other.locator("figure:visible figcaption").allTextContents();

await change(() => page.locator("#explore-start").click());
seen.start = [await hash(), (await totals()) === atStart[1]];
const framing = await browser.newPage();
framing.on("pageerror", (error) => seen.errors.push(String(error)));
await framing.goto(notebook);
const frame = framing.frameLocator("iframe");
await frame.locator("#live-status", { hasText: /^Shown/ }).waitFor();
await frame.locator("#control-rate").focus();
await framing.keyboard.press("ArrowRight");
await frame.locator("#control-rate-value", { hasText: "20 Mbit/s" }).waitFor();
await frame.locator("#live-status", { hasText: /^Shown/ }).waitFor();
seen.framed = await frame.locator("#live-totals").innerText();
seen.read = await framing.evaluate(() => window.model.get("address"));
await framing.evaluate(() => window.model.assign("address", "#rate=5"));
await frame.locator("#control-rate-value", { hasText: /^5 Mbit/ }).waitFor();
seen.assigned = await frame.locator("#control-rate-value").textContent();

// The lesson's transfer is over early, and so are its graphs; of groups of flows each has one line.
await page.goto(lesson);
await shown();
const ends = () => canvas(0).evaluate((one) => one.getAttribute("data-span"));
seen.lesson = [await ends(), await page.locator("figcaption").allTextContents(), await totals()];
seen.told = [];
for (const hash of ["#size=3MB", "#size=3MB&vs.=&vs.size=10kB", "#size=10kB"]) {
  await page.evaluate((to) => (location.hash = to), hash);
  seen.told.push(await page.locator("figcaption").first().textContent());
}
await browser.close();
console.log(JSON.stringify(seen));
