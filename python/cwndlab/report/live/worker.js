// The page's Worker: runs cells one after the other. The page ends it to cancel a run.

/**
 * @typedef {{ scenario: string, exact: string | null, seed: string, replicate: number }} Asked
 * `scenario` records what the graphs need; `exact` is the cell's own scenario if its digest is wanted.
 * @typedef {{ run: Run } | { digest: string } | { error: string }} Answer
 * @typedef {WebAssembly.Module | string} Engines The engine, or the address of a server that runs it.
 */

/** @type {Engines} */
let engine;

/**
 * A run by the server, which knows congestion controls in Python.
 * @param {string} address
 * @param {Asked} asked
 * @returns {Promise<Run>}
 */
async function runOnServer(address, { scenario, seed, replicate }) {
  const response = await fetch(address, { method: "POST", body: JSON.stringify({ scenario, seed, replicate, read: READ }) });
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  const { tables, error } = await response.json();
  if (error !== undefined) throw new Error(error);
  for (const { columns } of Object.values(tables)) {
    for (const column of Object.values(columns)) {
      column.values = new Float64Array(Uint8Array.from(atob(column.values), (letter) => letter.charCodeAt(0)).buffer);
    }
  }
  return { tables };
}

/** @param {MessageEvent<Engines | Asked>} event */
self.onmessage = async (event) => {
  const message = event.data;
  if (message instanceof WebAssembly.Module || typeof message === "string") {
    engine = message;
    return;
  }
  /** @param {Answer} answer @param {Transferable[]} [moved] */
  const post = (answer, moved) => self.postMessage(answer, { transfer: moved });
  try {
    const run = typeof engine === "string" ? await runOnServer(engine, message) :
      runScenario(engine, message.scenario, message.seed, message.replicate, false);
    const columns = Object.values(run.tables).flatMap((table) => Object.values(table.columns));
    post({ run }, columns.map((column) => /** @type {ArrayBuffer} */ (column.values.buffer)));
    if (message.exact !== null && typeof engine !== "string") {
      const { digest } = runScenario(engine, message.exact, message.seed, message.replicate, true);
      post({ digest: digest ?? "" });
    }
  } catch (error) {
    post({ error: error instanceof Error ? error.message : String(error) });
  }
};
