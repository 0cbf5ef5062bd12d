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

/** The engine and the data that the page carries. @returns {Promise<[WebAssembly.Module, unknown]>} */
async function carried() {
  const text = (/** @type {string} */ id) => element(id, HTMLElement).textContent ?? "";
  const [engine, data] = await Promise.all([unpack(text("live-engine")), unpack(text("live-data"))]);
  return [await WebAssembly.compile(engine), JSON.parse(new TextDecoder().decode(data))];
}

/**
 * A Worker with the engine in it. All of a page share one module, and with it the code that the browser has optimized.
 * @param {WebAssembly.Module} engine
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

/** The node that sends the data of the first traffic entry, most likely: after a run it is known. @param {Scenario} scenario */
function likelySender({ traffic: [first] }) {
  const pushes = first.app.kind === "bulk" || first.app.kind === "short-flows";
  return pushes && (first.app.from ?? "client") === "client" ? first.client : first.server;
}

/** Connections that are drawn at once. */
const MOST_SHOWN = 6;
/** Colours of two runs that are overlaid. */
const OVERLAID = ["--link", "--second"];

class Graphs {
  /** @param {(node: number, connection: number) => void} observe Runs again with the segments at another node. */
  constructor(observe) {
    this.observe = observe;
    this.sender = element("live-sender", HTMLSelectElement);
    this.link = element("live-link", HTMLSelectElement);
    this.totals = element("live-totals", HTMLElement);
    this.sequence = new Plot("Time\u2013sequence graph", "segment number", this);
    this.rate = new Plot("Rate", "Mb/s", this);
    this.window = new Plot("Window of the sender", "kB", this);
    this.roundTrip = new Plot("Smoothed round-trip time", "ms", this);
    this.queue = new Plot("Queue", "packets", this);
    this.plots = [this.sequence, this.rate, this.window, this.roundTrip, this.queue];
    element("live-plots", HTMLElement).append(...this.plots.map((plot) => plot.element));
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
      this.senders[0].map((one) => [String(one.connection), one.text]),
      String(chosen),
    );
    fill(
      this.link,
      scenario.links.map((one, k) => [String(k), one.name]),
      this.link.value || String(bottleneck(run)),
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
      const several = this.shots.length > 1;
      const shown = several && sender ? [sender] : all.slice(0, MOST_SHOWN);
      /** @param {Series[]} series */
      const mine = (series) => (several ? series.map((one) => overlaid(one, shot.label, k)) : series);
      return {
        totals: sender ? totals(shot.run, sender) : "No connection.",
        sequence: sender ? mine(sequenceSeries(shot.run, sender)) : [],
        rate: mine(rateSeries(shot.run, shot.scenario, shown)),
        window: sender ? mine(windowSeries(shot.run, sender)) : [],
        roundTrip: mine(roundTripSeries(shot.run, shot.scenario, shown)),
        queue: mine(queueSeries(shot.run, Number(this.link.value))),
      };
    });
    this.totals.textContent = parts.map((part, k) => (parts.length > 1 ? `${this.shots[k].label}: ` : "") + part.totals).join(" ");
    this.sequence.show(parts.flatMap((part) => part.sequence));
    this.rate.show(parts.flatMap((part) => part.rate));
    this.window.show(parts.flatMap((part) => part.window));
    this.roundTrip.show(parts.flatMap((part) => part.roundTrip));
    this.queue.show(parts.flatMap((part) => part.queue));
    this.draw();
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

  /** @param {Span} span */
  zoom([from, to]) {
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

  /** From 0 to the last event of the connection. */
  reset() {
    this.zoom([0, this.events()[1]]);
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

/** A series of one of two runs: its colour tells which. @param {Series} one @param {string} label @param {number} k */
function overlaid(one, label, k) {
  return { ...one, name: `${label}: ${one.name}`, color: OVERLAID[k] };
}
