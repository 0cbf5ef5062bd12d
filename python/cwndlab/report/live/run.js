// One run of the engine. Used by the page's Worker and by tests in Node; needs nothing from a browser.

/**
 * A column as the page reads it. Null is NaN. A column of words holds indices into `words`.
 * @typedef {{ values: Float64Array, words?: string[] }} Column
 * @typedef {{ rows: number, columns: Record<string, Column> }} Table
 * @typedef {{ tables: Record<string, Table>, digest?: string }} Run
 * @typedef {{ kind: string, at: number, valid?: number, words?: string[] }} Place
 * @typedef {{ tables: Record<string, { rows: number, columns: Record<string, Place> }>, digest?: string }} Layout
 * @typedef {{ memory: WebAssembly.Memory, input(len: number): number, run(seed: bigint, replicate: bigint, digest: number): number,
 *   text(): number, text_len(): number }} Engine
 */

/** The columns of each table that the page reads: everything else stays in the module. */
const READ = {
  segments: ["time_ns", "event", "connection", "from_client", "timeout", "segment", "link"],
  cwnd: ["time_ns", "connection", "from_client", "cwnd_bytes", "ssthresh_bytes", "in_flight_bytes", "srtt_ns"],
  queues: ["time_ns", "link", "packets", "bytes", "average"],
  connections: ["connection", "traffic", "start_ns", "end_ns", "bytes_up", "bytes_down", "segments_sent", "retransmits",
    "timeouts", "drops", "marks"],
  objects: ["traffic", "kind", "start_ns", "end_ns"],
  delays: ["time_ns", "connection", "from_client", "len"],
  links: ["link", "arrivals", "drops_full", "drops_aqm", "drops_loss", "marks", "mean_queue_packets"],
};

/** @type {Record<string, (memory: ArrayBuffer, at: number, rows: number) => ArrayLike<number | bigint>>} */
const VIEWS = {
  UInt8: (memory, at, rows) => new Uint8Array(memory, at, rows),
  UInt16: (memory, at, rows) => new Uint16Array(memory, at, rows),
  UInt32: (memory, at, rows) => new Uint32Array(memory, at, rows),
  Int64: (memory, at, rows) => new BigInt64Array(memory, at, rows),
  Float64: (memory, at, rows) => new Float64Array(memory, at, rows),
};

/**
 * A copy of a column that outlives the module's memory.
 * @param {ArrayBuffer} memory
 * @param {Place} place
 * @param {number} rows
 * @returns {Column}
 */
function readColumn(memory, place, rows) {
  const values = new Float64Array(rows);
  /** @param {number} at */
  const bits = (at) => new Uint8Array(memory, at, (rows + 7) >> 3);
  if (place.kind === "UInt64" && rows > 0) {
    // BigInt is slow; no value of a table reaches 2^53.
    const halves = new Uint32Array(memory, place.at, 2 * rows);
    for (let row = 0; row < rows; row++) values[row] = halves[2 * row] + halves[2 * row + 1] * 4294967296;
  } else if (place.kind === "Boolean") {
    const set = bits(place.at);
    for (let row = 0; row < rows; row++) values[row] = (set[row >> 3] >> (row & 7)) & 1;
  } else if (rows > 0) {
    const view = VIEWS[place.kind](memory, place.at, rows);
    if (view instanceof BigInt64Array) for (let row = 0; row < rows; row++) values[row] = Number(view[row]);
    else values.set(/** @type {ArrayLike<number>} */ (view));
  }
  if (place.valid !== undefined) {
    const valid = bits(place.valid);
    for (let row = 0; row < rows; row++) if (!((valid[row >> 3] >> (row & 7)) & 1)) values[row] = NaN;
  }
  return place.words ? { values, words: place.words } : { values };
}

/**
 * Runs one replicate in a new instance of the module. Throws an Error with the engine's message.
 * @param {WebAssembly.Module} module
 * @param {string} scenario JSON
 * @param {number | string} seed
 * @param {number} replicate
 * @param {boolean} digestOnly Return the digest of all records and no table.
 * @returns {Run}
 */
function runScenario(module, scenario, seed, replicate, digestOnly) {
  const engine = /** @type {Engine} */ (/** @type {unknown} */ (new WebAssembly.Instance(module).exports));
  const text = () => new TextDecoder().decode(new Uint8Array(engine.memory.buffer, engine.text(), engine.text_len()));
  const bytes = new TextEncoder().encode(scenario);
  const at = engine.input(bytes.length);
  new Uint8Array(engine.memory.buffer, at, bytes.length).set(bytes);
  let succeeded;
  try {
    succeeded = engine.run(BigInt(seed), BigInt(replicate), digestOnly ? 1 : 0);
  } catch (trap) {
    throw new Error(text() || String(trap));
  }
  if (!succeeded) throw new Error(text());
  /** @type {Layout} */
  const layout = JSON.parse(text());
  if (digestOnly) return { tables: {}, digest: layout.digest };
  /** @type {Record<string, Table>} */
  const tables = {};
  for (const [name, wanted] of Object.entries(READ)) {
    const { rows, columns } = layout.tables[name];
    const read = wanted.map((column) => [column, readColumn(engine.memory.buffer, columns[column], rows)]);
    tables[name] = { rows, columns: Object.fromEntries(read) };
  }
  return { tables };
}
