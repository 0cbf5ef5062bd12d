// One graph on a canvas: series over time. Several graphs share a time span, which their owner holds.

/**
 * `x` is ascending. Steps hold a value until the next, the last one until `end`; null values (NaN) draw nothing.
 * Series of one name have one entry in the legend. Of two runs overlaid, whose colours tell them apart, each run has an entry,
 * too, and pale series are drawn pale.
 * @typedef {{ name: string, x: Float64Array, y: Float64Array, draw: "steps" | "dot" | "square" | "cross" | "diamond",
 *   color: string, shown: boolean, dashed?: boolean, pale?: boolean, end?: number, run?: string }} Series
 * @typedef {{ zoom(span: Span): void, reset(): void, pan(share: number): void, scale(factor: number): void,
 *   hover(time: number | null): void }} Owner
 */

/** How the legend shows what a series is drawn with, if its colour does not tell. */
const SIGNS = { steps: "\u2501", dot: "\u2022", square: "\u25a0", cross: "\u00d7", diamond: "\u25c6" };

/** Opacity of pale series. */
const PALE = 0.4;

const MARGIN = { left: 58, right: 22, top: 8, bottom: 24 };

class Plot {
  /**
   * @param {string} title
   * @param {string} unit Of the vertical axis.
   * @param {string} about What to look for.
   * @param {Owner} owner
   */
  constructor(title, unit, about, owner) {
    this.title = title;
    this.unit = unit;
    this.owner = owner;
    /** @type {Series[]} */
    this.series = [];
    /** @type {Span} */
    this.span = [0, 1];
    /** @type {number | null} */
    this.cursor = null;
    /** Names of series, and of runs, that the legend has hidden. @type {Set<string>} */
    this.hidden = new Set();
    /** @type {Span | null} A moment or a part that is pointed out. */
    this.marked = null;
    /** @type {number | null} Where a drag began, in pixels. */
    this.dragged = null;
    this.canvas = document.createElement("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.values = document.createElement("p");
    this.values.className = "values";
    this.legend = document.createElement("div");
    this.legend.className = "legend";
    this.element = document.createElement("figure");
    const caption = document.createElement("figcaption");
    this.heading = document.createElement("strong");
    this.nameSubject("");
    this.about = document.createElement("span");
    this.about.textContent = about;
    caption.append(this.heading, " ", this.about);
    this.element.append(caption, this.legend, this.canvas, this.values);
    this.listen();
  }

  listen() {
    const { canvas, owner } = this;
    canvas.addEventListener("pointerdown", (event) => {
      this.dragged = event.offsetX;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => owner.hover(this.timeAt(event.offsetX)));
    canvas.addEventListener("pointerleave", () => owner.hover(null));
    canvas.addEventListener("pointercancel", () => (this.dragged = null));
    canvas.addEventListener("pointerup", (event) => {
      const from = this.dragged;
      this.dragged = null;
      if (from === null || Math.abs(event.offsetX - from) < 5) return;
      const ends = [this.timeAt(from), this.timeAt(event.offsetX)].sort((a, b) => a - b);
      owner.zoom([ends[0], ends[1]]);
    });
    canvas.addEventListener("dblclick", () => owner.reset());
    canvas.addEventListener("keydown", (event) => {
      /** @type {Record<string, () => void>} */
      const keys = {
        ArrowLeft: () => owner.pan(-0.2),
        ArrowRight: () => owner.pan(0.2),
        "+": () => owner.scale(0.5),
        "=": () => owner.scale(0.5),
        "-": () => owner.scale(2),
        0: () => owner.reset(),
      };
      const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
      if (act) {
        act();
        event.preventDefault();
      }
    });
  }

  /** Names what is drawn in the heading. @param {string} subject Empty: everything. */
  nameSubject(subject) {
    this.subject = subject === "" ? this.title : `${this.title} of ${subject}`;
    this.heading.textContent = `${this.subject} (${this.unit})`;
  }

  /** @param {Series[]} series */
  show(series) {
    const entries = () => this.series.map(({ name, color, run }) => `${run} ${name} ${color}`).join("\n");
    const before = entries();
    this.series = series.filter((one) => one.x.length > 0);
    this.hide();
    const names = [...new Set(this.series.map((one) => one.name))];
    const runs = [...new Set(this.series.flatMap((one) => one.run ?? []))];
    if (entries() !== before) this.legend.replaceChildren(...runs.map((run) => this.entry("run", run)), ...names.map((name) => this.entry("name", name)));
    const what = names.join(", ") || "nothing recorded";
    this.canvas.setAttribute("aria-label", `${this.subject} over time. ${what}. Arrow keys pan, + and \u2212 zoom, 0 resets.`);
  }

  /** Hides the series whose name or run is hidden, and shows the others. */
  hide() {
    for (const one of this.series) one.shown = !this.hidden.has(`name ${one.name}`) && !this.hidden.has(`run ${one.run}`);
  }

  /** The entry of a name or a run in the legend, a button that hides its series. @param {"name" | "run"} kind @param {string} text */
  entry(kind, text) {
    const button = document.createElement("button");
    const key = `${kind} ${text}`;
    const [{ color, dashed, pale, draw, run }] = this.series.filter((one) => one[kind] === text);
    const sign = kind === "name" && run !== undefined;
    button.type = "button";
    button.setAttribute("aria-pressed", String(!this.hidden.has(key)));
    button.style.setProperty("--color", sign ? "transparent" : `var(${color})`);
    button.classList.toggle("dashed", dashed === true && kind === "name");
    if (sign) {
      const drawn = Object.assign(document.createElement("span"), { textContent: dashed ? "\u2505" : SIGNS[draw], ariaHidden: "true" });
      drawn.style.opacity = String(pale ? PALE : 1);
      button.append(drawn, " ");
    }
    button.append(text);
    button.addEventListener("click", () => {
      if (!this.hidden.delete(key)) this.hidden.add(key);
      button.setAttribute("aria-pressed", String(!this.hidden.has(key)));
      this.hide();
      this.draw();
    });
    return button;
  }

  get width() {
    return this.canvas.clientWidth - MARGIN.left - MARGIN.right;
  }

  /** @param {number} x Pixels from the left edge of the canvas. */
  timeAt(x) {
    const share = Math.min(1, Math.max(0, (x - MARGIN.left) / this.width));
    return this.span[0] + share * (this.span[1] - this.span[0]);
  }

  /**
   * The rows of a series to draw, with one before and after where lines lead out of the graph.
   * @param {Series} one
   * @returns {[number, number]}
   */
  rows(one) {
    return [Math.max(0, above(one.x, this.span[0]) - 1), Math.min(one.x.length, above(one.x, this.span[1]) + 1)];
  }

  /** @returns {Span} */
  verticalSpan() {
    let low = Infinity;
    let high = -Infinity;
    for (const one of this.series) {
      if (!one.shown) continue;
      const [from, to] = this.rows(one);
      for (let row = from; row < to; row++) {
        const y = one.y[row];
        if (one.draw !== "steps" && (one.x[row] < this.span[0] || one.x[row] > this.span[1])) continue;
        if (y < low) low = y;
        if (y > high) high = y;
      }
    }
    if (!(high >= low)) return [0, 1];
    if (low > 0 && low < 0.5 * high) low = 0;
    const room = (high - low || 1) * 0.05;
    return [low === 0 ? 0 : low - room, high + room];
  }

  draw() {
    const { canvas, span, width } = this;
    const ratio = window.devicePixelRatio || 1;
    const height = canvas.clientHeight;
    const size = [Math.round(canvas.clientWidth * ratio), Math.round(height * ratio)];
    // Assigning a size, even the same one, makes the browser lay out the page again.
    if (canvas.width !== size[0]) canvas.width = size[0];
    if (canvas.height !== size[1]) canvas.height = size[1];
    canvas.dataset.span = span.join(" ");
    const context = canvas.getContext("2d");
    if (!context || width <= 0) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, canvas.clientWidth, height);
    const style = getComputedStyle(canvas);
    /** @param {string} name */
    const color = (name) => style.getPropertyValue(name).trim();
    const vertical = this.verticalSpan();
    const bottom = height - MARGIN.bottom;
    /** @param {number} time */
    const px = (time) => MARGIN.left + ((time - span[0]) / (span[1] - span[0])) * width;
    /** @param {number} value */
    const py = (value) => bottom - ((value - vertical[0]) / (vertical[1] - vertical[0])) * (bottom - MARGIN.top);

    context.font = "12px system-ui, sans-serif";
    context.strokeStyle = color("--line");
    context.fillStyle = color("--faint");
    const across = ticks(span, Math.max(2, Math.floor(width / 90)));
    const up = ticks(vertical, 4);
    context.beginPath();
    context.textAlign = "center";
    for (const time of across) {
      const x = Math.round(px(time)) + 0.5;
      context.moveTo(x, MARGIN.top);
      context.lineTo(x, bottom);
      context.fillText(`${withDigits(time, across.length > 1 ? across[1] - across[0] : 1)} s`, x, height - 8);
    }
    context.textAlign = "right";
    for (const value of up) {
      const y = Math.round(py(value)) + 0.5;
      context.moveTo(MARGIN.left, y);
      context.lineTo(MARGIN.left + width, y);
      context.fillText(withDigits(value, up.length > 1 ? up[1] - up[0] : 1), MARGIN.left - 6, y + 4);
    }
    context.stroke();
    context.save();
    context.beginPath();
    context.rect(MARGIN.left, MARGIN.top - 2, width, bottom - MARGIN.top + 4);
    context.clip();
    if (this.marked !== null) {
      context.fillStyle = color("--fair-band");
      const left = px(this.marked[0]);
      const across = Math.max(3, px(this.marked[1]) - left);
      context.fillRect(left - (across === 3 ? 1.5 : 0), MARGIN.top, across, bottom - MARGIN.top);
    }
    for (const one of this.series) {
      context.globalAlpha = one.pale && one.run !== undefined ? PALE : 1;
      if (one.shown) this.drawSeries(context, one, color(one.color), px, py);
    }
    context.globalAlpha = 1;
    if (this.cursor !== null) {
      context.strokeStyle = color("--faint");
      context.beginPath();
      context.moveTo(px(this.cursor), MARGIN.top);
      context.lineTo(px(this.cursor), bottom);
      context.stroke();
    }
    context.restore();
    this.describe();
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Series} one
   * @param {string} color
   * @param {(time: number) => number} px
   * @param {(value: number) => number} py
   */
  drawSeries(context, one, color, px, py) {
    const [from, to] = this.rows(one);
    context.strokeStyle = context.fillStyle = color;
    context.lineWidth = 1.5;
    context.beginPath();
    if (one.draw === "steps") {
      context.setLineDash(one.dashed ? [5, 4] : []);
      this.drawSteps(context, one, px, py);
      context.stroke();
      context.setLineDash([]);
      return;
    }
    let last = NaN;
    for (let row = from; row < to; row++) {
      const x = px(one.x[row]);
      const y = py(one.y[row]);
      const pixel = Math.round(2 * x) * 65536 + Math.round(2 * y);
      if (pixel === last) continue; // it would cover the one before
      last = pixel;
      if (one.draw === "dot") context.rect(x - 1.25, y - 1.25, 2.5, 2.5);
      else if (one.draw === "square") context.rect(x - 2.5, y - 2.5, 5, 5);
      else if (one.draw === "cross") {
        context.moveTo(x - 4, y - 4);
        context.lineTo(x + 4, y + 4);
        context.moveTo(x - 4, y + 4);
        context.lineTo(x + 4, y - 4);
      } else {
        context.moveTo(x, y - 5);
        context.lineTo(x + 5, y);
        context.lineTo(x, y + 5);
        context.lineTo(x - 5, y);
        context.closePath();
      }
    }
    if (one.draw === "cross") context.stroke();
    else context.fill();
  }

  /**
   * The path of a series of steps. Of those in one half of a pixel it has the lowest, the highest and the last.
   * @param {CanvasRenderingContext2D} context
   * @param {Series} one
   * @param {(time: number) => number} px
   * @param {(value: number) => number} py
   */
  drawSteps(context, one, px, py) {
    const [from, to] = this.rows(one);
    let column = NaN;
    let [left, low, high, last] = [0, 0, 0, NaN];
    const ends = () => {
      if (high > low) {
        context.lineTo(left, low);
        context.lineTo(left, high);
        context.lineTo(left, last);
      }
    };
    for (let row = from; row < to; row++) {
      const x = px(one.x[row]);
      const y = py(one.y[row]);
      const here = !Number.isNaN(y);
      if (here && Math.floor(2 * x) === column) {
        if (y < low) low = y;
        if (y > high) high = y;
        last = y;
        continue;
      }
      const pen = !Number.isNaN(last);
      if (pen) {
        ends();
        context.lineTo(x, last);
      }
      if (here && pen) context.lineTo(x, y);
      else if (here) context.moveTo(x, y);
      column = here ? Math.floor(2 * x) : NaN;
      left = x;
      low = high = last = y;
    }
    if (!Number.isNaN(last)) {
      ends();
      context.lineTo(px(to < one.x.length ? one.x[to] : Math.min(one.end ?? Infinity, this.span[1])), last);
    }
  }

  /** Says what the series are at the cursor: of steps their value, of events the one nearest. */
  describe() {
    const time = this.cursor;
    if (time === null) {
      if (this.values.textContent !== "\u00a0") this.values.textContent = "\u00a0";
      return;
    }
    const parts = [`${time.toFixed(6)} s`];
    const reach = (6 / this.width) * (this.span[1] - this.span[0]);
    for (const one of this.series) {
      if (!one.shown) continue;
      const name = one.run === undefined ? one.name : `${one.run}: ${one.name}`;
      const row = above(one.x, time) - 1;
      if (one.draw === "steps") {
        if (row >= 0 && !(time > (one.end ?? Infinity))) parts.push(`${name} ${shortNumber(one.y[row])}`);
        continue;
      }
      const near = [row, row + 1].filter((k) => k >= 0 && k < one.x.length && Math.abs(one.x[k] - time) <= reach);
      near.sort((a, b) => Math.abs(one.x[a] - time) - Math.abs(one.x[b] - time));
      if (near.length > 0) parts.push(`${name} ${shortNumber(one.y[near[0]])} at ${one.x[near[0]].toFixed(6)} s`);
    }
    this.values.textContent = parts.join(" \u00b7 ");
  }
}
