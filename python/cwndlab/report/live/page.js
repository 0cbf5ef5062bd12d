// The dialog in which a cell of the report is run again.

/**
 * @typedef {{ connection: number, start: number, end: number, text: string, steps: [time: number, text: string][] }} Wait
 * @typedef {{ title: string, sections: Record<string, number>, replicates: number, digest: string, waits?: Wait[] }} Cell
 * @typedef {{ seed: string, cells: Record<string, Cell>, sections: unknown[] }} Cells
 */

/** Whether an event is about a fold in a cell, which opens by itself; long reports also fold whole tables. @param {Event} event */
function isInFold(event) {
  return event.target instanceof Element && event.target.closest("td details") !== null;
}

/** What heads a number's column, and the group of columns that it is in. @param {HTMLElement} place A cell of a table's body. */
function headingOf(place) {
  const table = place.closest("table");
  const column = place.parentElement ? [...place.parentElement.children].indexOf(place) : -1;
  const own = table?.tHead?.rows[table.tHead.rows.length - 1].cells[column];
  const groups = table?.tHead && table.tHead.rows.length > 1 ? [...table.tHead.rows[0].cells] : [];
  let end = 0;
  const group = groups.find((one) => (end += one.colSpan) > column);
  return [group, own].map((one) => one?.textContent?.replace("\u2195", "").trim()).filter(Boolean).join(", ");
}

class Page {
  /** @param {Engines} engine @param {Cells} cells */
  constructor(engine, cells) {
    this.engine = engine;
    this.cells = cells;
    /** The cells' names in the order in which the tables count them. */
    this.names = Object.keys(cells.cells);
    this.dialog = element("live", HTMLDialogElement);
    this.title = element("live-title", HTMLElement);
    this.status = element("live-status", HTMLElement);
    this.check = element("live-check", HTMLElement);
    this.replicate = element("live-replicate", HTMLInputElement);
    this.claims = element("live-claims", HTMLElement);
    this.number = element("live-number", HTMLElement);
    this.command = element("live-command", HTMLElement);
    this.resting = element("live-resting", HTMLElement);
    this.why = element("live-why", HTMLElement);
    this.waits = element("live-waits", HTMLElement);
    this.graphs = new Graphs((node, connection) => this.start(node, connection));
    /** @type {Worker | null} */
    this.worker = null;
    this.cell = "";
    /** @type {HTMLElement | null} */
    this.opener = null;
    this.listen();
  }

  listen() {
    for (const target of document.querySelectorAll("td[data-cell]")) {
      if (!(target instanceof HTMLElement)) continue;
      const cell = this.names[Number(target.dataset.cell)];
      const number = target.querySelector(":scope > b");
      if (!number) continue;
      // A click anywhere in the cell runs it; the number is the button that a keyboard reaches.
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("aria-haspopup", "dialog");
      button.append(...number.childNodes);
      number.append(button);
      target.addEventListener("click", (event) => isInFold(event) || this.open(cell, button, target));
    }
    element("live-close", HTMLButtonElement).addEventListener("click", () => this.dialog.close());
    this.dialog.addEventListener("close", () => {
      this.stop();
      this.opener?.focus();
    });
    this.replicate.addEventListener("change", () => this.start(this.graphs.node, Number(this.graphs.sender.value)));
  }

  /** @param {string} cell @param {HTMLElement} opener What gets the focus back. @param {HTMLElement} from The number's place in its table. */
  open(cell, opener, from) {
    this.cell = cell;
    this.opener = opener;
    const { first, flow } = from.dataset;
    this.number.hidden = first === undefined;
    this.number.textContent = `${headingOf(from)}: ${opener.textContent} in all runs, ${first} in replicate 0.`;
    const chosen = cell === "base" ? "" : ` --set ${cell}`;
    this.command.textContent = `cwndlab explain study.toml${chosen}${flow === undefined ? "" : ` --flow ${flow}`} --seed ${this.cells.seed}`;
    this.title.textContent = this.cells.cells[cell].title;
    const claims = claimsOf(this.names.indexOf(cell));
    this.claims.replaceChildren(...claims.flatMap((link, k) => (k === 0 ? [link] : [", ", link])));
    this.resting.textContent = `Claims that rest on it (${claims.length})`;
    this.resting.parentElement?.toggleAttribute("hidden", claims.length === 0);
    for (const link of claims) link.addEventListener("click", () => this.dialog.close());
    this.explain(this.cells.cells[cell].waits);
    this.replicate.value = "0";
    this.replicate.disabled = this.cells.cells[cell].replicates < 2;
    this.graphs.clear();
    this.dialog.showModal();
    this.start(likelySender(this.scenario(), flow), null, flow);
  }

  /** The cell's own scenario. @returns {Scenario} */
  scenario() {
    const { sections } = this.cells.cells[this.cell];
    const parts = Object.entries(sections).map(([key, place]) => [key, this.cells.sections[place]]);
    return /** @type {Scenario} */ (Object.fromEntries(parts));
  }

  /** Lists what kept the sender from sending; each sentence shows its moment in the graphs. @param {Wait[] | undefined} waits */
  explain(waits) {
    element("live-unexplained", HTMLElement).hidden = waits !== undefined;
    /** @param {string} text @param {Wait} wait @param {Span} span */
    const sentence = (text, wait, span) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.addEventListener("click", () => {
        for (const other of this.waits.querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
        button.setAttribute("aria-current", "true");
        this.point(wait, span);
      });
      return button;
    };
    const items = (waits ?? []).map((wait) => {
      const item = document.createElement("li");
      const steps = document.createElement("ul");
      steps.append(...wait.steps.map(([time, text]) => {
        const step = document.createElement("li");
        step.append(sentence(`${time.toFixed(6)} s: ${text}`, wait, [time, time]));
        return step;
      }));
      const length = wait.end - wait.start;
      const span = `${wait.start.toFixed(3)} to ${wait.end.toFixed(3)} s (${length >= 1 ? `${length.toPrecision(3)} s` : `${(1000 * length).toPrecision(3)} ms`})`;
      item.append(sentence(`${span}: ${wait.text}`, wait, [wait.start, wait.end]), steps);
      return item;
    });
    if (waits?.length === 0) items.push(Object.assign(document.createElement("li"), { textContent: "Nothing kept it waiting." }));
    this.waits.replaceChildren(...items);
  }

  /** Zooms to a wait with the events that led to it, and marks one moment. @param {Wait} wait @param {Span} moment */
  point(wait, moment) {
    const times = [wait.start, wait.end, ...wait.steps.map(([time]) => time)];
    const [from, to] = [Math.min(...times), Math.max(...times)];
    const room = 0.1 * (to - from) || 0.001;
    if (this.graphs.sender.value !== String(wait.connection)) {
      this.graphs.sender.value = String(wait.connection);
      this.graphs.choose(wait.connection);
    }
    this.graphs.mark(moment, [from - room, to + room]);
  }

  stop() {
    this.worker?.terminate();
    this.worker = null;
  }

  /**
   * Runs the cell with the segments recorded at a node, and then shows a connection (null: the busiest, of a flow if one is named).
   * @param {number} node
   * @param {number | null} connection
   * @param {string} [flow]
   */
  start(node, connection, flow) {
    this.stop();
    const exact = this.scenario();
    const replicate = Math.max(0, Math.floor(Number(this.replicate.value) || 0));
    this.replicate.value = String(replicate);
    this.status.textContent = "Running\u2026";
    this.check.textContent = "";
    this.check.className = "";
    this.why.hidden = replicate !== 0; // the sentences are of that run
    const began = performance.now();
    const worker = startWorker(this.engine);
    this.worker = worker;
    /** @param {MessageEvent<Answer>} event */
    worker.onmessage = ({ data }) => {
      if ("error" in data) this.status.textContent = `The run failed: ${data.error}`;
      else if ("run" in data) {
        this.status.textContent = `Ran replicate ${replicate} in ${Math.round(performance.now() - began)} ms.`;
        const busiest = senders(data.run, exact).find(({ name }) => name === flow)?.connection;
        this.graphs.receive([{ label: "", run: data.run, scenario: exact }], node, connection ?? busiest ?? null);
        this.graphs.fit();
      } else this.compare(data.digest, replicate);
    };
    worker.onerror = (event) => (this.status.textContent = `The run failed: ${event.message}`);
    /** @type {Asked} */
    const asked = {
      scenario: JSON.stringify(observed(exact, node)),
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
}

async function main() {
  if (typeof WebAssembly !== "object" || typeof DecompressionStream !== "function") return;
  const [engine, cells] = await carried();
  filterByVerdict();
  sortTables();
  if (document.getElementById("claim-trail")) new ClaimTrail();
  new Page(engine, /** @type {Cells} */ (cells));
  for (const hint of document.querySelectorAll("[data-live]")) hint.removeAttribute("hidden");
  document.documentElement.classList.add("live");
}

void main();
