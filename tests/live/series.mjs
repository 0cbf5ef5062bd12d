// node series.mjs MODULE FOLDER: runs a scenario from stdin as a page does. Prints the series of its first queue and of its rates.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { runInThisContext } from "node:vm";

const [, , module, folder] = process.argv;
const scripts = ["run.js", "axes.js", "panel.js"].map((name) => readFileSync(`${folder}/${name}`, "utf8")).join("");
const { runScenario, observed, senders, linesOf, queueSeries, rateSeries } = runInThisContext(
  `${scripts}; ({ runScenario, observed, senders, linesOf, queueSeries, rateSeries })`,
);
const { scenario, seed, node } = JSON.parse(readFileSync(0, "utf8"));
const engine = new WebAssembly.Module(gunzipSync(readFileSync(module)));
const run = runScenario(engine, JSON.stringify(observed(scenario, node)), seed, 0, false);
const all = senders(run, scenario);
const plain = (series) => Object.fromEntries(series.map(({ name, y }) => [name, [...y]]));
const rates = plain(rateSeries(run, scenario, all, linesOf(all)));
console.log(JSON.stringify({ queue: plain(queueSeries(run, scenario, 0)), rates }));
