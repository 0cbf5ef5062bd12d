// The series of a run's graphs, from its record tables.

/**
 * @typedef {{ links: { name: string, from: number, to: number }[], traffic: { name: string, client: number, server: number, app: { kind?: string, from?: string } }[],
 *   nodes: string[], probes: Record<string, unknown>, duration_ns: number }} Scenario
 * @typedef {{ connection: number, traffic: number, fromClient: boolean, text: string, short: string }} Sender
 */

const NS = 1e9;

/**
 * The rows of a table that satisfy a condition: time and one value, for each.
 * @param {Table} table
 * @param {string} column
 * @param {(row: number) => boolean} wanted
 * @param {number} unit What the value is divided by.
 */
function pick(table, column, wanted, unit = 1) {
  const rows = [];
  for (let row = 0; row < table.rows; row++) if (wanted(row)) rows.push(row);
  return at(table, column, rows, unit);
}

/**
 * Time and one value at some rows of a table.
 * @param {Table} table
 * @param {string} column
 * @param {number[]} rows
 * @param {number} unit What the value is divided by.
 */
function at(table, column, rows, unit = 1) {
  const time = table.columns.time_ns.values;
  const value = table.columns[column].values;
  const x = new Float64Array(rows.length);
  const y = new Float64Array(rows.length);
  for (let k = 0; k < rows.length; k++) {
    x[k] = time[rows[k]] / NS;
    y[k] = value[rows[k]] / unit;
  }
  return { x, y };
}

/**
 * The connections of a run and which end sends most of the data, the busiest first.
 * @param {Run} run
 * @param {Scenario} scenario
 * @returns {Sender[]}
 */
function senders(run, scenario) {
  const { rows, columns } = run.tables.connections;
  const order = Array.from({ length: rows }, (_, row) => row);
  const sent = columns.segments_sent.values;
  order.sort((a, b) => sent[b] - sent[a] || a - b);
  return order.map((row) => {
    const traffic = columns.traffic.values[row];
    const connection = columns.connection.values[row];
    const start = (columns.start_ns.values[row] / NS).toFixed(3);
    const name = scenario.traffic[traffic].name || `traffic ${traffic}`;
    return {
      connection,
      traffic,
      fromClient: columns.bytes_up.values[row] >= columns.bytes_down.values[row],
      text: `${name}, connection ${connection} (from ${start} s)`,
      short: scenario.traffic.length < rows ? `${name}, ${connection}` : name,
    };
  });
}

/**
 * What the time–sequence graph shows of a connection, with the event of each series. `data`: an event of the sender's
 * segments, not of the receiver's; `timeout`: 1 if a timer caused it.
 * @type {{ name: string, event: string, data: boolean, timeout?: number, draw: Series["draw"], color: string }[]}
 */
const EVENTS = [
  { name: "acknowledged", event: "ack", data: false, draw: "steps", color: "--none" },
  { name: "sent", event: "send", data: true, draw: "dot", color: "--link" },
  { name: "duplicate ACK", event: "dupack", data: false, draw: "dot", color: "--fair" },
  { name: "retransmitted", event: "retransmit", data: true, timeout: 0, draw: "square", color: "--odd" },
  { name: "retransmitted after timeout", event: "retransmit", data: true, timeout: 1, draw: "square", color: "--bad" },
  { name: "dropped", event: "drop", data: true, draw: "cross", color: "--bad" },
  { name: "marked", event: "mark", data: true, draw: "diamond", color: "--good" },
];

/**
 * @param {Run} run
 * @param {Sender} sender
 * @returns {Series[]}
 */
function sequenceSeries(run, sender) {
  const table = run.tables.segments;
  const { columns } = table;
  const event = columns.event.values;
  const mine = columns.connection.values;
  const client = columns.from_client.values;
  const timeout = columns.timeout.values;
  const found = EVENTS.map((one) => ({ one, end: Number(sender.fromClient === one.data), rows: /** @type {number[]} */ ([]) }));
  const ofCode = (columns.event.words ?? []).map((word) => found.filter(({ one }) => one.event === word));
  for (let row = 0; row < table.rows; row++) {
    if (mine[row] !== sender.connection) continue;
    for (const { one, end, rows } of ofCode[event[row]]) {
      if (client[row] === end && (one.timeout === undefined || timeout[row] === one.timeout)) rows.push(row);
    }
  }
  return found.map(({ one: { name, draw, color }, rows }) => ({ name, ...at(table, "segment", rows), draw, color, shown: true }));
}

/**
 * @param {Run} run
 * @param {Sender} sender
 * @returns {Series[]}
 */
function windowSeries(run, sender) {
  const table = run.tables.cwnd;
  const mine = table.columns.connection.values;
  const client = table.columns.from_client.values;
  /** @param {number} row */
  const wanted = (row) => mine[row] === sender.connection && client[row] === Number(sender.fromClient);
  return [
    { name: "in flight", ...pick(table, "in_flight_bytes", wanted, 1000), draw: "steps", color: "--good", shown: true },
    { name: "cwnd", ...pick(table, "cwnd_bytes", wanted, 1000), draw: "steps", color: "--link", shown: true },
    { name: "ssthresh", ...pick(table, "ssthresh_bytes", wanted, 1000), draw: "steps", color: "--bad", shown: true, dashed: true },
  ];
}

/** Colours of series, as in the figures of a report. */
const PALETTE = Array.from({ length: 8 }, (_, k) => `--s${k}`);

/**
 * The colours of connections: that of the flow, which it has in the whole report, or one each if all are of one flow.
 * @param {Scenario} scenario
 * @param {Sender[]} shown
 */
function coloursOf({ traffic }, shown) {
  const flows = traffic.map(({ name }) => name.replace(/\.\d+$/, ""));
  const order = [...new Set(flows)];
  const places = shown.map((sender) => order.indexOf(flows[sender.traffic]));
  const alike = new Set(places).size < 2;
  return places.map((place, k) => PALETTE[(alike && shown.length > 1 ? k : place) % PALETTE.length]);
}

/**
 * What the graphs need recorded, next to the cell's own probes: samples of every connection, for its rate.
 * @param {Scenario} exact
 * @param {number} node Where segments are observed.
 */
function observed(exact, node) {
  const edge = (/** @type {number} */ k) => Math.round((k * exact.duration_ns) / SAMPLES);
  const windows = Array.from({ length: SAMPLES }, (_, k) => [`rate ${k}`, [edge(k), edge(k + 1)]]);
  const probes = { ...exact.probes, segments_at: node, cwnd: true, connections: true, queues: exact.links.map((_, k) => k) };
  return { ...exact, windows: Object.fromEntries(windows), probes };
}

/** Intervals in which rates are measured. */
const SAMPLES = 120;

/**
 * The rate at which data arrives in order, for each connection.
 * @param {Run} run
 * @param {Scenario} scenario
 * @param {Sender[]} shown
 * @returns {Series[]}
 */
function rateSeries(run, scenario, shown) {
  const { rows, columns } = run.tables.connection_snapshots;
  const end = scenario.duration_ns / NS;
  const colours = coloursOf(scenario, shown);
  return shown.map((sender, place) => {
    const name = sender.fromClient ? "bytes_up" : "bytes_down";
    const final = run.tables.connections.columns;
    /** @type {number[]} */
    const x = [];
    /** @type {number[]} */
    const y = [];
    let before = 0;
    let bytes = 0;
    /** @param {number} time @param {number} now */
    const sample = (time, now) => {
      x.push(before);
      y.push(((now - bytes) * 8) / (time - before) / 1e6);
      before = time;
      bytes = now;
    };
    for (let row = 0; row < rows; row++) {
      if (columns.connection.values[row] !== sender.connection) continue;
      const time = columns.time_ns.values[row] / NS;
      if (x.length === 0) before = Math.max(0, time - end / SAMPLES);
      if (time > before) sample(time, columns[name].values[row]);
    }
    if (x.length > 0) sample(end, final[name].values[final.connection.values.indexOf(sender.connection)]);
    return { name: sender.short, x: Float64Array.from(x), y: Float64Array.from(y), draw: "steps", color: colours[place], shown: true };
  });
}

/**
 * The smoothed round-trip time, for each connection.
 * @param {Run} run
 * @param {Scenario} scenario
 * @param {Sender[]} shown
 * @returns {Series[]}
 */
function roundTripSeries(run, scenario, shown) {
  const colours = coloursOf(scenario, shown);
  const table = run.tables.cwnd;
  const mine = table.columns.connection.values;
  const client = table.columns.from_client.values;
  const time = table.columns.srtt_ns.values;
  return shown.map((sender, place) => {
    /** @param {number} row */
    const wanted = (row) => mine[row] === sender.connection && client[row] === Number(sender.fromClient) && !Number.isNaN(time[row]);
    return { name: sender.short, ...pick(table, "srtt_ns", wanted, 1e6), draw: "steps", color: colours[place], shown: true };
  });
}

/**
 * @param {Run} run
 * @param {number} link
 * @returns {Series[]}
 */
function queueSeries(run, link) {
  const table = run.tables.queues;
  const links = table.columns.link.values;
  const average = table.columns.average.values;
  /** @param {number} row */
  const wanted = (row) => links[row] === link;
  /** @type {Series[]} */
  const series = [
    { name: "queue", ...pick(table, "packets", wanted), draw: "steps", color: "--link", shown: true },
    {
      name: "RED's average",
      ...pick(table, "average", (row) => wanted(row) && !Number.isNaN(average[row])),
      draw: "steps",
      color: "--fair",
      shown: true,
    },
  ];
  const segments = run.tables.segments;
  const places = segments.columns.link.values;
  const words = segments.columns.event.words ?? [];
  const event = segments.columns.event.values;
  for (const [word, draw, color] of /** @type {const} */ ([
    ["drop", "cross", "--bad"],
    ["mark", "diamond", "--good"],
  ])) {
    const code = words.indexOf(word);
    const { x } = pick(segments, "link", (row) => event[row] === code && places[row] === link);
    const queue = series[0];
    const y = Float64Array.from(x, (time) => queue.y[Math.max(0, above(queue.x, time) - 1)] ?? 0);
    series.push({ name: word === "drop" ? "dropped" : "marked", x, y, draw, color, shown: true });
  }
  return series;
}

/** The link with the longest queue on average. @param {Run} run */
function bottleneck(run) {
  const { rows, columns } = run.tables.links;
  let best = 0;
  for (let row = 1; row < rows; row++) {
    if (columns.mean_queue_packets.values[row] > columns.mean_queue_packets.values[best]) best = row;
  }
  return columns.link.values[best];
}

/** What the sender's connection counted, in a sentence. @param {Run} run @param {Sender} sender */
function totals(run, sender) {
  const { columns } = run.tables.connections;
  const row = columns.connection.values.indexOf(sender.connection);
  /** @param {string} name */
  const of = (name) => shortNumber(columns[name].values[row]);
  const bytes = shortNumber(columns[sender.fromClient ? "bytes_up" : "bytes_down"].values[row]);
  return (
    `${bytes} bytes delivered; ${of("segments_sent")} segments sent by both ends, ${of("retransmits")} retransmitted, ` +
    `${of("timeouts")} timeouts, ${of("drops")} dropped, ${of("marks")} marked.`
  );
}
