// The page's Worker: runs cells one after the other. The page ends it to cancel a run.

/**
 * @typedef {{ scenario: string, exact: string | null, seed: string, replicate: number }} Asked
 * `scenario` records what the graphs need; `exact` is the cell's own scenario if its digest is wanted.
 * @typedef {{ run: Run } | { digest: string } | { error: string }} Answer
 */

/** @type {WebAssembly.Module} */
let module;

/** @param {MessageEvent<WebAssembly.Module | Asked>} event */
self.onmessage = (event) => {
  const message = event.data;
  if (message instanceof WebAssembly.Module) {
    module = message;
    return;
  }
  /** @param {Answer} answer @param {Transferable[]} [moved] */
  const post = (answer, moved) => self.postMessage(answer, { transfer: moved });
  try {
    const run = runScenario(module, message.scenario, message.seed, message.replicate, false);
    const columns = Object.values(run.tables).flatMap((table) => Object.values(table.columns));
    post({ run }, columns.map((column) => /** @type {ArrayBuffer} */ (column.values.buffer)));
    if (message.exact !== null) {
      const { digest } = runScenario(module, message.exact, message.seed, message.replicate, true);
      post({ digest: digest ?? "" });
    }
  } catch (error) {
    post({ error: error instanceof Error ? error.message : String(error) });
  }
};
