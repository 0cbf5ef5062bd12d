// The dialog in which a cell of the report is run again.

/**
 * @typedef {{ sections: Record<string, number>, replicates: number, digest: string }} Cell
 * @typedef {{ seed: string, cells: Record<string, Cell>, sections: unknown[] }} Cells
 */

/** Whether an event is about the fold in a cell, which opens by itself. @param {Event} event */
function isInFold(event) {
  return event.target instanceof Element && event.target.closest("details") !== null;
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
    this.replicate = element("live-replicate", HTMLInputElement);
    this.graphs = new Graphs((node, connection) => this.start(node, connection));
    /** @type {Worker | null} */
    this.worker = null;
    this.cell = "";
    this.listen();
  }

  listen() {
    for (const target of document.querySelectorAll("td[data-cell]")) {
      if (!(target instanceof HTMLElement)) continue;
      const cell = target.dataset.cell ?? "";
      target.tabIndex = 0;
      target.addEventListener("click", (event) => isInFold(event) || this.open(cell));
      target.addEventListener("keydown", (event) => {
        if ((event.key !== "Enter" && event.key !== " ") || isInFold(event)) return;
        event.preventDefault();
        this.open(cell);
      });
    }
    element("live-close", HTMLButtonElement).addEventListener("click", () => this.dialog.close());
    this.dialog.addEventListener("close", () => this.stop());
    this.replicate.addEventListener("change", () => this.start(this.graphs.node, Number(this.graphs.sender.value)));
  }

  /** @param {string} cell */
  open(cell) {
    this.cell = cell;
    this.title.textContent = cell.replaceAll(",", ", ").replaceAll("=", " = ");
    this.replicate.value = "0";
    this.replicate.disabled = this.cells.cells[cell].replicates < 2;
    this.graphs.clear();
    this.dialog.showModal();
    this.start(likelySender(this.scenario()), null);
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
    const exact = this.scenario();
    const replicate = Math.max(0, Math.floor(Number(this.replicate.value) || 0));
    this.replicate.value = String(replicate);
    this.status.textContent = "Running\u2026";
    this.check.textContent = "";
    this.check.className = "";
    const began = performance.now();
    const worker = startWorker(this.engine);
    this.worker = worker;
    /** @param {MessageEvent<Answer>} event */
    worker.onmessage = ({ data }) => {
      if ("error" in data) this.status.textContent = `The run failed: ${data.error}`;
      else if ("run" in data) {
        this.status.textContent = `Ran replicate ${replicate} in ${Math.round(performance.now() - began)} ms.`;
        this.graphs.receive([{ label: "", run: data.run, scenario: exact }], node, connection);
        this.graphs.reset();
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

/** What a cell is sorted by: its measured number, else its text. @param {Element | undefined} cell */
function sortKey(cell) {
  const text = ((cell?.querySelector(".measured") ?? cell)?.textContent ?? "").trim();
  const value = text === "" ? NaN : Number(text.replace("\u2212", "-"));
  return { text, value };
}

/** A button in each heading of a table sorts its rows. */
function sortTables() {
  for (const table of document.querySelectorAll("table.grid")) {
    const body = table.querySelector("tbody");
    const headings = [...(table.querySelector("thead tr:last-child")?.children ?? [])];
    for (const [column, heading] of headings.entries()) {
      if (!body) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => {
        const down = heading.getAttribute("aria-sort") === "ascending";
        for (const other of headings) other.removeAttribute("aria-sort");
        heading.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...body.rows].map((row) => ({ row, key: sortKey(row.children[column]) }));
        rows.sort(({ key: a }, { key: b }) => {
          const words = Number.isNaN(a.value) || Number.isNaN(b.value);
          const order = words ? a.text.localeCompare(b.text, "en", { numeric: true }) : a.value - b.value;
          return down ? -order : order;
        });
        body.append(...rows.map(({ row }) => row));
      });
    }
  }
}

async function main() {
  if (typeof WebAssembly !== "object" || typeof DecompressionStream !== "function") return;
  const text = (/** @type {string} */ id) => element(id, HTMLElement).textContent ?? "";
  const [engine, cells] = await Promise.all([unpack(text("live-engine")), unpack(text("live-cells"))]);
  filterRows();
  sortTables();
  new Page(engine, JSON.parse(new TextDecoder().decode(cells)));
  for (const hint of document.querySelectorAll("[data-live]")) hint.removeAttribute("hidden");
  document.documentElement.classList.add("live");
}

void main();
