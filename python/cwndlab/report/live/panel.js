// The series of a run's graphs, from its record tables.

/**
 * @typedef {{ links: { name: string, from: number, to: number, queue: { unit?: string } }[], traffic: { name: string, client: number, server: number, app: { kind?: string, from?: string } }[],
 *   nodes: string[], probes: Record<string, unknown>, duration_ns: number }} Scenario
 * @typedef {{ connection: number, traffic: number, fromClient: boolean, start: number, end: number, group: number, name: string,
 *   text: string }} Sender A connection; `end`: when it had sent all it had to, else infinite; `group`: the place of its flow's name.
 * @typedef {{ name: string, color: string, members: Sender[] }} Line What has a line of its own in a graph: a flow, or a connection.
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
  const names = scenario.traffic.map(({ name }, k) => (name || `traffic ${k}`).replace(/\.\d+$/, ""));
  const groups = [...new Set(names)];
  const finished = scenario.traffic.map(() => /** @type {number[]} */ ([]));
  const { traffic: of, end_ns: ends } = run.tables.objects.columns;
  for (const [row, end] of ends.values.entries()) if (!Number.isNaN(end)) finished[of.values[row]].push(end);
  const done = finished.map((times) => Float64Array.from(times).sort());
  const { connection: owner, from_client: client, time_ns: time, in_flight_bytes: inFlight, srtt_ns: srtt } = run.tables.cwnd.columns;
  /** The last row of each connection's two ends. @type {Map<number, number>[]} */
  const last = [new Map(), new Map()];
  for (let row = 0; row < run.tables.cwnd.rows; row++) last[client.values[row]].set(owner.values[row], row);
  /**
   * When a connection's window changed last, if nothing was in flight then, or a file of its flow was complete within two round trips.
   * @param {number | undefined} row @param {number} traffic
   */
  const endOf = (row, traffic) => {
    if (row === undefined) return Infinity;
    const near = 2 * (srtt.values[row] || 0);
    const complete = done[traffic][above(done[traffic], time.values[row] - near)] <= time.values[row] + near;
    return inFlight.values[row] === 0 || complete ? time.values[row] / NS : Infinity;
  };
  return order.map((row) => {
    const traffic = columns.traffic.values[row];
    const connection = columns.connection.values[row];
    const fromClient = columns.bytes_up.values[row] >= columns.bytes_down.values[row];
    const start = columns.start_ns.values[row] / NS;
    const name = scenario.traffic[traffic].name || `traffic ${traffic}`;
    return {
      connection,
      traffic,
      fromClient,
      start,
      end: endOf(last[Number(fromClient)].get(connection), traffic),
      group: groups.indexOf(names[traffic]),
      name: names[traffic],
      text: `${name}, connection ${connection} (from ${start.toFixed(3)} s)`,
    };
  });
}

/** Connections of a single flow that have a line each. */
const MOST_SHOWN = 6;

/** A line for each flow, or for each of the connections if all are of one flow and few. @param {Sender[]} all @returns {Line[]} */
function linesOf(all) {
  const groups = [...new Set(all.map(({ group }) => group))].sort((a, b) => a - b);
  if (groups.length === 1 && all.length > 1 && all.length <= MOST_SHOWN) {
    const ordered = [...all].sort((a, b) => a.connection - b.connection);
    return ordered.map((one, k) => ({ name: `${one.name}, ${one.connection}`, color: paletteColor(k), members: [one] }));
  }
  return groups.map((group) => {
    const members = all.filter((one) => one.group === group);
    const [{ name }] = members;
    return { name: members.length > 1 ? `${name} (${members.length})` : name, color: paletteColor(group), members };
  });
}

/** A colour of series, as in the figures of a report. @param {number} place */
function paletteColor(place) {
  return `--s${place % 8}`;
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
  const { end } = sender;
  return found.map(({ one: { name, draw, color }, rows }) => ({ name, ...at(table, "segment", rows), draw, color, shown: true, end }));
}

/**
 * @param {Run} run
 * @param {Sender} sender
 * @param {string} color Of its flow.
 * @returns {Series[]}
 */
function windowSeries(run, sender, color) {
  const table = run.tables.cwnd;
  const mine = table.columns.connection.values;
  const client = table.columns.from_client.values;
  /** @param {number} row */
  const wanted = (row) => mine[row] === sender.connection && client[row] === Number(sender.fromClient);
  const { end } = sender;
  return [
    { name: "in flight", ...pick(table, "in_flight_bytes", wanted, 1000), draw: "steps", color: "--faint", shown: true, pale: true, end },
    { name: "cwnd", ...pick(table, "cwnd_bytes", wanted, 1000), draw: "steps", color, shown: true, end },
    { name: "ssthresh", ...pick(table, "ssthresh_bytes", wanted, 1000), draw: "steps", color: "--bad", shown: true, dashed: true, end },
  ];
}

/**
 * What the graphs need recorded, next to the cell's own probes.
 * @param {Scenario} exact
 * @param {number} node Where segments are observed.
 */
function observed(exact, node) {
  const probes = { ...exact.probes, segments_at: node, cwnd: true, connections: true, delays: true, queues: exact.links.map((_, k) => k) };
  return { ...exact, windows: {}, probes };
}

/** Intervals in which rates are measured. */
const SAMPLES = 120;

/**
 * The rate at which data arrives, for each line, and that of all connections if there are several. It counts packets as they
 * arrive, in order or not: counted in order, a repaired hole would look like a rate above the link's.
 * @param {Run} run
 * @param {Scenario} scenario
 * @param {Sender[]} all
 * @param {Line[]} lines
 * @returns {Series[]}
 */
function rateSeries(run, scenario, all, lines) {
  const width = scenario.duration_ns / NS / SAMPLES;
  const { rows, columns } = run.tables.delays;
  const { time_ns: time, connection: owner, from_client: client, len } = columns;
  const senderOf = new Map(all.map((one) => [one.connection, one]));
  /** Bytes in each interval, for each connection. @type {Map<number, Float64Array>} */
  const arrived = new Map(all.map((one) => [one.connection, new Float64Array(SAMPLES)]));
  for (let row = 0; row < rows; row++) {
    const sender = senderOf.get(owner.values[row]);
    const counted = sender && arrived.get(sender.connection);
    if (!counted || client.values[row] !== Number(sender.fromClient)) continue;
    counted[Math.min(SAMPLES - 1, Math.floor(time.values[row] / NS / width))] += len.values[row];
  }
  /** @param {Line} line @param {boolean} dashed @returns {Series} */
  const series = ({ name, color, members }, dashed) => {
    const first = Math.floor(Math.min(...members.map(({ start }) => start)) / width);
    const last = Math.min(SAMPLES, Math.ceil(Math.max(...members.map(({ end }) => end)) / width));
    const x = Float64Array.from({ length: Math.max(0, last - first) }, (_, k) => (first + k) * width);
    const y = x.map((_, k) => members.reduce((sum, { connection }) => sum + (arrived.get(connection)?.[first + k] ?? 0), 0) * 8e-6 / width);
    return { name, x, y, draw: "steps", color, shown: true, dashed, end: last * width };
  };
  const total = lines.length > 1 || lines.some(({ members }) => members.length < all.length);
  return [...(total ? [series({ name: "all", color: "--faint", members: all }, true)] : []), ...lines.map((line) => series(line, false))];
}

/** Connections that have a line in the graph of round-trip times. */
const MOST_TIMED = 60;

/**
 * The smoothed round-trip time of each connection, in the colour of its line.
 * @param {Run} run
 * @param {Line[]} lines
 * @returns {Series[]}
 */
function roundTripSeries(run, lines) {
  const table = run.tables.cwnd;
  const { connection, from_client: client, srtt_ns: time } = table.columns;
  const timed = lines.flatMap((line) => line.members.map((sender) => ({ line, sender, rows: /** @type {number[]} */ ([]) })));
  const byConnection = new Map(timed.slice(0, MOST_TIMED).map((one) => [one.sender.connection, one]));
  for (let row = 0; row < table.rows; row++) {
    const one = byConnection.get(connection.values[row]);
    if (one && client.values[row] === Number(one.sender.fromClient) && !Number.isNaN(time.values[row])) one.rows.push(row);
  }
  return [...byConnection.values()].map(({ line, sender, rows }) => (
    { name: line.name, ...at(table, "srtt_ns", rows, 1e6), draw: "steps", color: line.color, shown: true, end: sender.end }
  ));
}

/**
 * @param {Run} run
 * @param {Scenario} scenario
 * @param {number} link
 * @returns {Series[]}
 */
function queueSeries(run, { links: configured }, link) {
  const table = run.tables.queues;
  const links = table.columns.link.values;
  const average = table.columns.average.values;
  /** @param {number} row */
  const wanted = (row) => links[row] === link;
  const unit = configured[link].queue.unit === "bytes" ? packetSize(table, wanted) : 1;
  /** @type {Series[]} */
  const series = [
    { name: "queue", ...pick(table, "packets", wanted), draw: "steps", color: "--none", shown: true },
    {
      name: "RED's average",
      ...pick(table, "average", (row) => wanted(row) && !Number.isNaN(average[row] / unit), unit),
      draw: "steps",
      color: "--fair",
      shown: true,
      dashed: true,
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

/** Mean size in bytes of the packets in samples of a queue, NaN if all are empty. @param {Table} table @param {(row: number) => boolean} wanted */
function packetSize({ rows, columns: { packets, bytes } }, wanted) {
  let [count, size] = [0, 0];
  for (let row = 0; row < rows; row++) {
    if (!wanted(row)) continue;
    count += packets.values[row];
    size += bytes.values[row];
  }
  return size / count;
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

/**
 * What each line counted, and all connections together: rows of a table under `TOTALS`.
 * @param {Run} run
 * @param {Scenario} scenario
 * @param {Sender[]} all
 * @param {Line[]} lines
 * @returns {string[][]}
 */
function totals(run, scenario, all, lines) {
  const { columns } = run.tables.connections;
  const rowOf = new Map([...columns.connection.values].map((connection, row) => [connection, row]));
  /** @param {Line} line */
  const cells = ({ name, members }) => {
    /** @param {(sender: Sender) => number} value */
    const sum = (value) => members.reduce((before, one) => before + value(one), 0);
    /** @param {string} column */
    const counted = (column) => shortNumber(sum((one) => columns[column].values[rowOf.get(one.connection) ?? 0]));
    const bytes = sum((one) => columns[one.fromClient ? "bytes_up" : "bytes_down"].values[rowOf.get(one.connection) ?? 0]);
    const from = Math.min(...members.map(({ start }) => start));
    const to = Math.min(scenario.duration_ns / NS, Math.max(...members.map(({ end }) => end)));
    const taken = lines.length > 1 && members === all ? null : completions(run, all, members);
    return [
      name, to > from ? ((bytes * 8e-6) / (to - from)).toPrecision(3) : "", taken === null ? "" : taken.toPrecision(3),
      ...["drops", "marks", "retransmits", "timeouts"].map(counted), (bytes / 1e6).toPrecision(3), counted("segments_sent"),
    ];
  };
  return [...lines, ...(lines.length > 1 ? [{ name: "all", color: "", members: all }] : [])].map(cells);
}

/**
 * The mean time in seconds that the pages, files or transactions of some connections took, if they are all of their traffic.
 * @param {Run} run
 * @param {Sender[]} all
 * @param {Sender[]} members
 */
function completions(run, all, members) {
  const traffic = new Set(members.map((one) => one.traffic));
  if (all.some((one) => traffic.has(one.traffic) && !members.includes(one))) return null;
  const { traffic: of, kind, start_ns: start, end_ns: end } = run.tables.objects.columns;
  const rows = [...of.values.keys()].filter((row) => traffic.has(of.values[row]) && !Number.isNaN(end.values[row]));
  for (const wanted of ["page", "file", "transaction"]) {
    const code = (kind.words ?? []).indexOf(wanted);
    const mine = rows.filter((row) => kind.values[row] === code);
    if (mine.length > 0) return mine.reduce((sum, row) => sum + (end.values[row] - start.values[row]) / NS, 0) / mine.length;
  }
  return null;
}

/** Headings of the table of totals. */
const TOTALS = ["flow", "rate (Mb/s)", "time (s)", "dropped", "marked", "resent", "timeouts", "MB", "sent"];
