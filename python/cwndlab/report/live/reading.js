// What helps to read a report: a filter, sorting, and the way from a claim to its numbers and back.

/** Makes buttons of the counted verdicts: one shows only the claims, or the rows with a number, of that verdict; again, all. */
function filterByVerdict() {
  for (const [name, kind, inside] of [
    ["Claims", ".claim", (/** @type {string} */ verdict) => `.${verdict}`],
    ["Published numbers", "table.grid tbody tr:has(td), table.listing tbody tr:not(.group)", (/** @type {string} */ verdict) => `:has(.${verdict})`],
  ]) {
    const counts = [...document.querySelectorAll(`.verdicts[data-of="${name}"] .count`)];
    const items = [...document.querySelectorAll(String(kind))];
    for (const count of counts) {
      const verdict = count instanceof HTMLElement ? (count.dataset.verdict ?? "") : "";
      const fits = (/** @type {Element} */ item) => item.matches(/** @type {(verdict: string) => string} */ (inside)(verdict));
      if (!items.some(fits)) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("aria-pressed", "false");
      button.append(...count.childNodes);
      count.append(button);
      button.addEventListener("click", () => {
        const on = button.getAttribute("aria-pressed") === "false";
        for (const other of counts) other.querySelector("button")?.setAttribute("aria-pressed", String(on && other === count));
        for (const item of items) item.toggleAttribute("hidden", on && !fits(item));
        for (const section of document.querySelectorAll("details.question")) {
          if (section instanceof HTMLDetailsElement && on && items.some((item) => section.contains(item) && !item.hasAttribute("hidden"))) section.open = true;
        }
      });
    }
  }
}

/** What a cell is sorted by: its measured number, else its text. @param {Element | undefined} cell */
function sortKey(cell) {
  const text = ((cell?.querySelector(":scope > b") ?? cell)?.textContent ?? "").trim();
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

/**
 * From a claim to the numbers that it rests on: they are marked, and a bar leads from one table to the next and back.
 */
class ClaimTrail {
  constructor() {
    this.bar = element("claim-trail", HTMLElement);
    this.text = element("claim-trail-text", HTMLElement);
    /** @type {HTMLElement | null} The claim. */
    this.claim = null;
    /** @type {HTMLElement[]} Its numbers. */
    this.numbers = [];
    this.at = 0;
    for (const claim of document.querySelectorAll("article[data-claim]")) {
      if (!(claim instanceof HTMLElement)) continue;
      for (const link of claim.querySelectorAll(".rests a")) {
        link.addEventListener("click", (event) => {
          event.preventDefault();
          this.show(claim, document.querySelector(link.getAttribute("href") ?? ""));
        });
      }
    }
    element("claim-next", HTMLButtonElement).addEventListener("click", () => this.go(this.at + 1));
    element("claim-back", HTMLButtonElement).addEventListener("click", () => this.back());
    element("claim-end", HTMLButtonElement).addEventListener("click", () => this.end());
  }

  /** Marks the numbers of a claim and goes to the first in a part of the page. @param {HTMLElement} claim @param {Element | null} part */
  show(claim, part) {
    this.end();
    this.claim = claim;
    const selector = `td[data-claims~="${claim.dataset.claim}"]`;
    this.numbers = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(selector)]);
    for (const number of this.numbers) number.classList.add("of-claim");
    this.bar.hidden = false;
    this.go(Math.max(0, this.numbers.findIndex((number) => part?.contains(number))));
  }

  /** @param {number} place */
  go(place) {
    this.at = place % this.numbers.length;
    const number = this.numbers[this.at];
    this.text.textContent = `${this.claim?.id.replace("claim-", "")}: number ${this.at + 1} of ${this.numbers.length}`;
    number.closest("tr")?.removeAttribute("hidden");
    number.closest("details.question")?.setAttribute("open", "");
    number.querySelector("button")?.focus({ preventScroll: true });
    number.scrollIntoView({ block: "center", inline: "center" });
  }

  back() {
    const { claim } = this;
    this.end();
    if (!claim) return;
    claim.tabIndex = -1;
    claim.focus({ preventScroll: true });
    claim.scrollIntoView({ block: "center" });
  }

  end() {
    for (const number of this.numbers) number.classList.remove("of-claim");
    this.numbers = [];
    this.bar.hidden = true;
  }
}

/** Links to the claims that rest on a cell, for the dialog that shows it. @param {number} cell */
function claimsOf(cell) {
  const found = new Set([...document.querySelectorAll(`td[data-cell="${cell}"]`)].flatMap((one) =>
    one instanceof HTMLElement ? (one.dataset.claims ?? "").split(" ").filter(Boolean) : []));
  return [...found].map(Number).sort((a, b) => a - b).flatMap((number) => {
    const claim = document.querySelector(`article[data-claim="${number}"]`);
    if (!claim) return [];
    const link = document.createElement("a");
    link.href = `#${claim.id}`;
    link.textContent = claim.id.replace("claim-", "");
    return [link];
  });
}
