// The graphs of one run, or of two overlaid, with what chooses among connections, queues and times.

/**
 * @typedef {{ label: string, run: Run, scenario: Scenario }} Shot A run to draw; the label tells two apart.
 */

/** @template {Element} E @param {string} id @param {new () => E} kind @returns {E} */
function element(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${id}`);
  return found;
}

/** The bytes of a gzip file in base64. @param {string} text */
async function unpack(text) {
  const letters = atob(text);
  const packed = new Uint8Array(letters.length);
  for (let k = 0; k < letters.length; k++) packed[k] = letters.charCodeAt(k);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The engine, or the address of the server that runs it, and the data that the page carries. @returns {Promise<[Engines, unknown]>} */
async function carried() {
  const text = (/** @type {string} */ id) => element(id, HTMLElement).textContent ?? "";
  const packed = text("live-engine");
  const engine = packed === "" ? new URL("run", location.href).href : await WebAssembly.compile(await unpack(packed));
  return [engine, JSON.parse(new TextDecoder().decode(await unpack(text("live-data"))))];
}

/**
 * A Worker with the engine in it. All of a page share one module, and with it the code that the browser has optimized.
 * @param {Engines} engine
 */
function startWorker(engine) {
  const source = new Blob([element("live-worker", HTMLElement).textContent ?? ""], { type: "text/javascript" });
  const address = URL.createObjectURL(source);
  const worker = new Worker(address);
  worker.postMessage(engine);
  URL.revokeObjectURL(address);
  return worker;
}

/** @param {HTMLSelectElement} select @param {[value: string, text: string][]} options @param {string} chosen */
function fill(select, options, chosen) {
  select.replaceChildren(...options.map(([value, text]) => new Option(text, value, false, value === chosen)));
}

/**
 * The node that sends the data of a flow, or of the first traffic entry, most likely: after a run it is known.
 * @param {Scenario} scenario
 * @param {string} [flow]
 */
function likelySender({ traffic }, flow) {
  const first = traffic.find(({ name }) => name.replace(/\.\d+$/, "") === flow) ?? traffic[0];
  const pushes = first.app.kind === "bulk" || first.app.kind === "short-flows";
  return pushes && (first.app.from ?? "client") === "client" ? first.client : first.server;
}

/** The graphs in their order: name, title, unit and what to look for. */
const GRAPHS = /** @type {const} */ ([
  ["sequence", "Packets", "segment number", "A dot is a packet when it is sent, a cross one that is dropped. The steeper, the faster."],
  ["rate", "Rate", "Mb/s", "Data that arrives at the receivers, repeated data included: of each flow, and of all together (dashed)."],
  ["window", "Window", "kB", "Cwnd is what the sender may have in flight; it falls on congestion. In flight is what is not acknowledged in sequence: in a recovery also what has arrived."],
  ["round_trip", "Round-trip time", "ms", "As each sender measures it, smoothed: that of the path, and the wait in the queue."],
  ["queue", "Queue", "packets", "What waits at the link. A cross is a dropped packet, a diamond a marked one."],
]);

/** Colours of two runs that are overlaid. */
const OVERLAID = ["--link", "--second"];

class Graphs {
  /**
   * @param {(node: number, connection: number) => void} observe Runs again with the segments at another node.
   * @param {string[]} first The graphs that come first.
   */
  constructor(observe, first = []) {
    this.observe = observe;
    this.sender = element("live-sender", HTMLSelectElement);
    this.link = element("live-link", HTMLSelectElement);
    this.totals = element("live-totals", HTMLElement);
    const plots = GRAPHS.map(([name, title, unit, about]) => /** @type {const} */ ([name, new Plot(title, unit, about, this)]));
    const byName = Object.fromEntries(plots);
    this.byName = byName;
    this.sequence = byName.sequence;
    this.rate = byName.rate;
    this.window = byName.window;
    this.roundTrip = byName.round_trip;
    this.queue = byName.queue;
    this.plots = [...first.map((name) => byName[name]), ...plots.filter(([name]) => !first.includes(name)).map(([, plot]) => plot)];
    element("live-plots", HTMLElement).append(this.switch(), ...this.plots.map((plot) => plot.element));
    /** Whether the span of time follows the runs. */
    this.whole = true;
    /** @type {Shot[]} */
    this.shots = [];
    /** @type {Sender[][]} Of each run, the busiest first. */
    this.senders = [];
    this.node = -1;
    this.hovering = false;
    /** @param {string} id @param {() => void} act */
    const button = (id, act) => element(id, HTMLButtonElement).addEventListener("click", act);
    button("live-in", () => this.scale(0.5));
    button("live-out", () => this.scale(2));
    button("live-left", () => this.pan(-0.2));
    button("live-right", () => this.pan(0.2));
    button("live-reset", () => this.reset());
    this.sender.addEventListener("change", () => this.choose(Number(this.sender.value)));
    this.link.addEventListener("change", () => this.show());
    window.addEventListener("resize", () => this.draw());
  }

  /** Says what to look for, in some graphs otherwise than in general. @param {Record<string, string>} texts */
  tell(texts) {
    for (const [name, , , about] of GRAPHS) this.byName[name].about.textContent = texts[name] ?? about;
  }

  /** The buttons that choose a graph where there is room for one. */
  switch() {
    const row = document.createElement("p");
    row.className = "switch";
    const buttons = this.plots.map((plot) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = plot.title.replace("Round-trip time", "RTT");
      button.addEventListener("click", () => choose(plot));
      return button;
    });
    /** @param {Plot} chosen */
    const choose = (chosen) => {
      for (const [k, plot] of this.plots.entries()) {
        plot.element.classList.toggle("chosen", plot === chosen);
        buttons[k].setAttribute("aria-pressed", String(plot === chosen));
      }
      this.draw();
    };
    row.append(...buttons);
    queueMicrotask(() => choose(this.plots[0]));
    return row;
  }

  /** Forgets what is drawn. */
  clear() {
    this.shots = [];
    for (const plot of this.plots) plot.marked = null;
    this.link.replaceChildren();
    this.sender.replaceChildren();
  }

  /**
   * Draws runs that observed the segments at a node.
   * @param {Shot[]} shots
   * @param {number} node
   * @param {number | null} connection The one to show, null: the busiest of the first.
   */
  receive(shots, node, connection) {
    this.shots = shots;
    this.node = node;
    this.senders = shots.map(({ run, scenario }) => senders(run, scenario));
    const [{ run, scenario }] = shots;
    const known = this.senders[0].some((one) => one.connection === connection);
    const chosen = known ? connection : (this.senders[0][0]?.connection ?? null);
    fill(
      this.sender,
      [...this.senders[0]].sort((a, b) => a.group - b.group || a.connection - b.connection).map((one) => [String(one.connection), one.text]),
      String(chosen),
    );
    const slowest = bottleneck(run);
    fill(
      this.link,
      scenario.links.map((one, k) => [String(k), one.name.replace(">", " to ") + (k === slowest ? ", the bottleneck" : "")]),
      this.link.value || String(slowest),
    );
    if (chosen !== null) this.choose(chosen);
  }

  /** Shows a connection; has it run again if its sender was not observed. @param {number} connection */
  choose(connection) {
    const sender = this.senders[0].find((one) => one.connection === connection);
    if (!sender) return;
    const ends = this.shots[0].scenario.traffic[sender.traffic];
    const node = sender.fromClient ? ends.client : ends.server;
    if (node === this.node) this.show();
    else this.observe(node, connection);
  }

  show() {
    if (this.shots.length === 0) return;
    const chosen = Number(this.sender.value);
    const parts = this.shots.map((shot, k) => {
      const all = this.senders[k];
      const sender = all.find((one) => one.connection === chosen) ?? all[0];
      const lines = linesOf(all);
      const several = this.shots.length > 1;
      const own = lines.filter(({ members }) => members.includes(sender));
      const shown = several ? own : lines;
      /** @param {Series[]} series */
      const mine = (series) => (several ? series.map((one) => overlaid(one, shot.label, k)) : series);
      return {
        subject: sender ? subject(all, sender) : "",
        totals: totals(shot.run, shot.scenario, all, lines),
        sequence: sender ? mine(sequenceSeries(shot.run, sender)) : [],
        rate: mine(rateSeries(shot.run, shot.scenario, all, shown)),
        window: sender ? mine(windowSeries(shot.run, sender, own[0].color)) : [],
        roundTrip: mine(roundTripSeries(shot.run, shown)),
        queue: mine(queueSeries(shot.run, shot.scenario, Number(this.link.value))),
      };
    });
    this.showTotals(parts.map((part) => part.totals));
    const subjects = [...new Set(parts.map((part) => part.subject))].join(" and ");
    for (const plot of [this.sequence, this.window]) plot.nameSubject(subjects);
    this.sequence.show(parts.flatMap((part) => part.sequence));
    this.rate.show(parts.flatMap((part) => part.rate));
    this.window.show(parts.flatMap((part) => part.window));
    this.roundTrip.show(parts.flatMap((part) => part.roundTrip));
    this.queue.show(parts.flatMap((part) => part.queue));
    if (this.whole) for (const plot of this.plots) plot.span = [0, this.last()];
    this.draw();
  }

  /** A table of what each flow counted, with a column for what happened at all. @param {string[][][]} runs */
  showTotals(runs) {
    const rows = runs.flatMap((lines, k) => lines.map(([name, ...rest]) => [runs.length > 1 ? `${this.shots[k].label}: ${name}` : name, ...rest]));
    const kept = TOTALS.map((_, k) => k).filter((k) => k < 2 || rows.some((row) => row[k] !== "" && row[k] !== "0"));
    /** @param {string} tag @param {string} text */
    const cell = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    head.append(...kept.map((k) => Object.assign(cell("th", TOTALS[k]), { scope: "col" })));
    const body = table.createTBody();
    for (const row of rows) body.insertRow().append(...kept.map((k) => (k === 0 ? Object.assign(cell("th", row[k]), { scope: "row" }) : cell("td", row[k]))));
    this.totals.replaceChildren(table);
  }

  draw() {
    if (this.shots.length === 0) return;
    for (const plot of this.plots) plot.draw();
  }

  // What every graph has in common: the span of time, and the cursor.

  /** The end of the longest run, in seconds. */
  get end() {
    return Math.max(...this.shots.map(({ scenario }) => scenario.duration_ns / NS));
  }

  /** When the last connection of the runs ended; the end of the longest run if one did not. */
  last() {
    const end = Math.max(...this.senders.flat().map((one) => one.end), 0);
    return end > 0 && end < this.end ? Math.min(this.end, 1.02 * end) : this.end;
  }

  /** @param {Span} span */
  zoom([from, to]) {
    this.whole = false;
    const width = Math.min(this.end, Math.max(1e-6, to - from));
    const start = Math.min(Math.max(0, from), this.end - width);
    for (const plot of this.plots) plot.span = [start, start + width];
    this.draw();
  }

  /** Shows a span of time with a moment, or a part of it, marked. @param {Span} moment @param {Span} span */
  mark(moment, span) {
    for (const plot of this.plots) plot.marked = moment;
    this.zoom(span);
    this.sequence.element.scrollIntoView({ block: "nearest" });
  }

  /** From 0 to the end of the last connection. */
  reset() {
    this.zoom([0, this.last()]);
    this.whole = true;
  }

  /** Shows a connection that begins late, or ends early, without the time before and after. */
  fit() {
    const [first, last] = this.events();
    const room = 0.05 * (last - first);
    this.zoom(first > 0.2 * last ? [first - room, last] : [0, last]);
  }

  /** The first and the last event of the connection, with a little room after it. @returns {Span} */
  events() {
    const events = [...this.sequence.series, ...this.window.series];
    const first = Math.min(...events.map((one) => one.x[0]), this.end);
    const last = Math.max(...events.map((one) => one.x[one.x.length - 1]), 0);
    return [first, Math.min(this.end, last + 0.02 * (last - first) || this.end)];
  }

  /** @param {number} share Of the span. */
  pan(share) {
    const [from, to] = this.sequence.span;
    this.zoom([from + share * (to - from), to + share * (to - from)]);
  }

  /** @param {number} factor */
  scale(factor) {
    const [from, to] = this.sequence.span;
    const centre = this.sequence.cursor ?? (from + to) / 2;
    this.zoom([centre - (centre - from) * factor, centre + (to - centre) * factor]);
  }

  /** Draws at most once per frame: the pointer moves more often. @param {number | null} time */
  hover(time) {
    if (!this.hovering) requestAnimationFrame(() => ((this.hovering = false), this.draw()));
    this.hovering = true;
    for (const plot of this.plots) plot.cursor = time;
  }
}

/** A connection in a heading: the name of its flow, with its number if the flow has several. @param {Sender[]} all @param {Sender} sender */
function subject(all, { group, name, connection }) {
  return all.filter((one) => one.group === group).length > 1 ? `${name}, connection ${connection}` : name;
}

/** A series of one of two runs: its colour tells which. @param {Series} one @param {string} run @param {number} k */
function overlaid(one, run, k) {
  return { ...one, run, color: OVERLAID[k] };
}
