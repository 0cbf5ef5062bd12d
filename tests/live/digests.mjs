// node digests.mjs ENGINE.wasm.gz RUN.js < [{scenario, seed}, …]: the digest of the records of each, as JSON.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

const [, , engine, script] = process.argv;
const runScenario = new Function(`${readFileSync(script, "utf8")}; return runScenario;`)();
const module = new WebAssembly.Module(gunzipSync(readFileSync(engine)));
const imports = WebAssembly.Module.imports(module);
if (imports.length > 0) throw new Error(`the module imports ${JSON.stringify(imports)}`);
const digests = JSON.parse(readFileSync(0, "utf8")).map(({ scenario, seed }) => {
  try {
    return runScenario(module, scenario, seed, 0, true).digest;
  } catch (error) {
    return String(error.message);
  }
});
console.log(JSON.stringify(digests));
