// The dialog in which a cell of the report is run again.

/**
 * @typedef {{ sections: Record<string, number>, replicates: number, digest: string }} Cell
 * @typedef {{ seed: string, cells: Record<string, Cell>, sections: unknown[] }} Cells
 */

/** @template {Element} E @param {string} id @param {new () => E} kind @returns {E} */
function element(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${id}`);
  return found;
}

/** The bytes of a gzip file in base64. @param {string} text */
async function unpack(text) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** @param {HTMLSelectElement} select @param {[value: string, text: string][]} options @param {string} chosen */
function fill(select, options, chosen) {
  select.replaceChildren(...options.map(([value, text]) => new Option(text, value, false, value === chosen)));
}

class Page {
  /** @param {Uint8Array<ArrayBuffer>} engine @param {Cells} cells */
  constructor(engine, cells) {
    this.engine = engine;
    this.cells = cells;
    this.dialog = element("live", HTMLDialogElement);
    this.title = element("live-title", HTMLElement);
    this.status = element("live-status", HTMLElement);
    this.check = element("live-check", HTMLElement);
    this.totals = element("live-totals", HTMLElement);
    this.replicate = element("live-replicate", HTMLInputElement);
    this.sender = element("live-sender", HTMLSelectElement);
    this.link = element("live-link", HTMLSelectElement);
    this.plots = [
      new Plot("Time\u2013sequence graph", "segment number", this),
      new Plot("Window of the sender", "kB", this),
      new Plot("Queue", "packets", this),
    ];
    element("live-plots", HTMLElement).append(...this.plots.map((plot) => plot.element));
    /** @type {Worker | null} */
    this.worker = null;
    /** @type {Run | null} */
    this.run = null;
    /** @type {Sender[]} */
    this.senders = [];
    this.cell = "";
    this.observed = -1;
    this.hovering = false;
    this.listen();
  }

  listen() {
    for (const target of document.querySelectorAll("td[data-cell]")) {
      if (!(target instanceof HTMLElement)) continue;
      const cell = target.dataset.cell ?? "";
      target.tabIndex = 0;
      target.addEventListener("click", () => this.open(cell));
      target.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        this.open(cell);
      });
    }
    /** @param {string} id @param {() => void} act */
    const button = (id, act) => element(id, HTMLButtonElement).addEventListener("click", act);
    button("live-close", () => this.dialog.close());
    button("live-in", () => this.scale(0.5));
    button("live-out", () => this.scale(2));
    button("live-left", () => this.pan(-0.2));
    button("live-right", () => this.pan(0.2));
    button("live-reset", () => this.reset());
    this.dialog.addEventListener("close", () => this.stop());
    this.replicate.addEventListener("change", () => this.start(this.observed, Number(this.sender.value)));
    this.sender.addEventListener("change", () => this.choose(Number(this.sender.value)));
    this.link.addEventListener("change", () => this.show());
    window.addEventListener("resize", () => this.run && this.draw());
  }

  /** @param {string} cell */
  open(cell) {
    this.cell = cell;
    this.title.textContent = cell.replaceAll(",", ", ").replaceAll("=", " = ");
    this.replicate.value = "0";
    this.replicate.disabled = this.cells.cells[cell].replicates < 2;
    this.run = null;
    this.link.replaceChildren();
    this.dialog.showModal();
    // Most likely the node that sends; after the run it is known.
    const [traffic] = this.scenario().traffic;
    this.start(traffic.app.from === "client" ? traffic.client : traffic.server, null);
  }

  /** The cell's own scenario. @returns {Scenario} */
  scenario() {
    const { sections } = this.cells.cells[this.cell];
    const parts = Object.entries(sections).map(([key, place]) => [key, this.cells.sections[place]]);
    return /** @type {Scenario} */ (Object.fromEntries(parts));
  }

  stop() {
    this.worker?.terminate();
    this.worker = null;
  }

  /**
   * Runs the cell with the segments recorded at a node, and then shows a connection (null: the busiest).
   * @param {number} node
   * @param {number | null} connection
   */
  start(node, connection) {
    this.stop();
    this.observed = node;
    const exact = this.scenario();
    const probes = { ...exact.probes, segments_at: node, cwnd: true, connections: true, queues: exact.links.map((_, k) => k) };
    const replicate = Math.max(0, Math.floor(Number(this.replicate.value) || 0));
    this.replicate.value = String(replicate);
    this.status.textContent = "Running\u2026";
    this.check.textContent = "";
    this.check.className = "";
    const began = performance.now();
    const source = new Blob([element("live-worker", HTMLElement).textContent ?? ""], { type: "text/javascript" });
    const address = URL.createObjectURL(source);
    const worker = new Worker(address);
    this.worker = worker;
    /** @param {MessageEvent<Answer>} event */
    worker.onmessage = ({ data }) => {
      if ("error" in data) this.status.textContent = `The run failed: ${data.error}`;
      else if ("run" in data) {
        this.status.textContent = `Ran replicate ${replicate} in ${Math.round(performance.now() - began)} ms.`;
        this.received(data.run, connection);
      } else this.compare(data.digest, replicate);
    };
    worker.onerror = (event) => (this.status.textContent = `The run failed: ${event.message}`);
    worker.postMessage(this.engine);
    URL.revokeObjectURL(address);
    /** @type {Asked} */
    const asked = {
      scenario: JSON.stringify({ ...exact, probes }),
      exact: replicate === 0 ? JSON.stringify(exact) : null,
      seed: this.cells.seed,
      replicate,
    };
    worker.postMessage(asked);
    if (replicate !== 0) this.check.textContent = "The report keeps the digest of replicate 0 only.";
  }

  /** @param {string} digest @param {number} replicate */
  compare(digest, replicate) {
    const same = digest === this.cells.cells[this.cell].digest;
    this.check.className = same ? "chip agrees" : "chip differs";
    this.check.textContent = same
      ? `\u2713 Same bytes as replicate ${replicate} of the table (SHA-256 ${digest.slice(0, 16)}\u2026)`
      : `\u2717 Not the bytes of the table: SHA-256 ${digest.slice(0, 16)}\u2026`;
  }

  /** @param {Run} run @param {number | null} connection */
  received(run, connection) {
    const scenario = this.scenario();
    this.run = run;
    this.senders = senders(run, scenario);
    const known = this.senders.some((one) => one.connection === connection);
    const chosen = known ? connection : (this.senders[0]?.connection ?? null);
    fill(
      this.sender,
      this.senders.map((one) => [String(one.connection), one.text]),
      String(chosen),
    );
    const link = this.link.value || String(bottleneck(run));
    fill(
      this.link,
      scenario.links.map((one, k) => [String(k), one.name]),
      link,
    );
    if (chosen !== null) this.choose(chosen);
    this.reset();
  }

  /** Shows a connection; runs again if its sender was not observed. @param {number} connection */
  choose(connection) {
    const sender = this.senders.find((one) => one.connection === connection);
    if (!sender) return;
    const ends = this.scenario().traffic[sender.traffic];
    const node = sender.fromClient ? ends.client : ends.server;
    if (node === this.observed) this.show();
    else this.start(node, connection);
  }

  show() {
    const sender = this.senders.find((one) => one.connection === Number(this.sender.value));
    if (!this.run || !sender) return;
    this.totals.textContent = totals(this.run, sender);
    this.plots[0].show(sequenceSeries(this.run, sender));
    this.plots[1].show(windowSeries(this.run, sender));
    this.plots[2].show(queueSeries(this.run, Number(this.link.value)));
    this.draw();
  }

  draw() {
    for (const plot of this.plots) plot.draw();
  }

  // What every graph has in common: the span of time, and the cursor.

  /** @param {Span} span */
  zoom([from, to]) {
    const end = this.scenario().duration_ns / NS;
    const width = Math.min(end, Math.max(1e-6, to - from));
    const start = Math.min(Math.max(0, from), end - width);
    for (const plot of this.plots) plot.span = [start, start + width];
    this.draw();
  }

  /** From 0 to the last event of the graphs. */
  reset() {
    const events = this.plots.slice(0, 2).flatMap((plot) => plot.series);
    const last = events.map((one) => one.x[one.x.length - 1]);
    const end = this.scenario().duration_ns / NS;
    this.zoom([0, Math.min(end, Math.max(...last, 0) * 1.02 || end)]);
  }

  /** @param {number} share Of the span. */
  pan(share) {
    const [from, to] = this.plots[0].span;
    this.zoom([from + share * (to - from), to + share * (to - from)]);
  }

  /** @param {number} factor */
  scale(factor) {
    const [from, to] = this.plots[0].span;
    const centre = this.plots[0].cursor ?? (from + to) / 2;
    this.zoom([centre - (centre - from) * factor, centre + (to - centre) * factor]);
  }

  /** Draws at most once per frame: the pointer moves more often. @param {number | null} time */
  hover(time) {
    if (!this.hovering) requestAnimationFrame(() => ((this.hovering = false), this.draw()));
    this.hovering = true;
    for (const plot of this.plots) plot.cursor = time;
  }
}

/** Hides table rows in which no number differs from the paper's. */
function filterRows() {
  const filter = document.getElementById("live-differs");
  if (!(filter instanceof HTMLInputElement)) return;
  filter.addEventListener("change", () => {
    for (const row of document.querySelectorAll("table.grid tbody tr")) {
      row.toggleAttribute("hidden", filter.checked && row.querySelector("td[data-cell]") !== null && !row.querySelector("td.differs"));
    }
  });
}

async function main() {
  if (typeof WebAssembly !== "object" || typeof DecompressionStream !== "function") return;
  const text = (/** @type {string} */ id) => element(id, HTMLElement).textContent ?? "";
  const [engine, cells] = await Promise.all([unpack(text("live-engine")), unpack(text("live-cells"))]);
  filterRows();
  new Page(engine, JSON.parse(new TextDecoder().decode(cells)));
  for (const hint of document.querySelectorAll("[data-live]")) hint.removeAttribute("hidden");
  document.documentElement.classList.add("live");
}

void main();
