// The page of controls: each setting is a cell, compiled in advance, that runs as soon as a control moves.

/**
 * @typedef {string | number | boolean | null} Scalar
 * @typedef {{ name: string, title: string, unit: string, ordered: boolean, base: number, stops: { value: Scalar, title: string }[] }} Control
 * @typedef {{ controls: number[], places: (string | number)[][], rows: number[][] }} ScenarioTable A row for each
 *   combination of the controls, the last one fastest; values are indices into the pool, 0 for absent.
 * @typedef {{ name: string, seed: string, controls: Control[], base: Scenario, tables: ScenarioTable[], pool: unknown[],
 *   axes: Record<string, Scalar>, order: string[], study: string, columns: string, look: [string, [Record<string, string[]>, string][]][] }} Content
 * @typedef {number[]} Setting Each control's position.
 */

/** The place of the reason why a setting has no scenario. */
const PROBLEM = "!";

/**
 * The scenario of a setting, as the compiler made it, or why there is none.
 * @param {Content} content
 * @param {Setting} setting
 * @returns {Scenario | string}
 */
function scenarioOf(content, setting) {
  const scenario = structuredClone(content.base);
  for (const { controls, places, rows } of content.tables) {
    const row = controls.reduce((before, control) => before * content.controls[control].stops.length + setting[control], 0);
    for (const [k, place] of places.entries()) {
      const value = rows[row][k];
      if (place[0] !== PROBLEM) put(scenario, place, value === 0 ? undefined : content.pool[value]);
      else if (value !== 0) return String(content.pool[value]);
    }
  }
  return scenario;
}

/** @param {any} inside @param {(string | number)[]} place @param {unknown} value undefined: none. */
function put(inside, place, value) {
  for (const key of place.slice(0, -1)) inside = inside[key];
  const last = place[place.length - 1];
  if (value === undefined) delete inside[last];
  else inside[last] = value;
}

/**
 * Settings in an address: "iw=4&vs.iw=10" overlays two. What is not named is as at the start.
 * @param {Content} content
 * @param {string} hash
 * @returns {{ settings: Setting[], replicate: number }}
 */
function fromHash(content, hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  /** @param {string} prefix @returns {Setting} */
  const setting = (prefix) =>
    content.controls.map((control) => {
      const wanted = given.get(prefix + control.name);
      const found = control.stops.findIndex((stop) => stop.value !== null && String(stop.value) === wanted);
      return found < 0 ? control.base : found;
    });
  const second = [...given.keys()].some((key) => key.startsWith("vs."));
  return {
    settings: second ? [setting(""), setting("vs.")] : [setting("")],
    replicate: Math.max(0, Math.floor(Number(given.get("replicate.")) || 0)),
  };
}

/** @param {Content} content @param {Setting[]} settings @param {number} replicate */
function toHash(content, settings, replicate) {
  const given = new URLSearchParams();
  for (const [k, setting] of settings.entries()) {
    const prefix = k === 0 ? "" : "vs.";
    if (k > 0) given.set(prefix, "");
    for (const [c, control] of content.controls.entries()) {
      if (setting[c] !== control.base) given.set(prefix + control.name, String(control.stops[setting[c]].value));
    }
  }
  if (replicate > 0) given.set("replicate.", String(replicate));
  return `#${given}`;
}

/** A study file whose cells are these settings. @param {Content} content @param {Setting[]} settings */
function studyFile(content, settings) {
  const cells = settings.map((setting) => {
    const axes = new Map(Object.entries(content.axes));
    for (const [k, control] of content.controls.entries()) {
      const { value } = control.stops[setting[k]];
      if (value === null) axes.delete(control.name);
      else axes.set(control.name, value);
    }
    return content.order.filter((name) => axes.has(name)).map((name) => /** @type {const} */ ([name, axes.get(name)]));
  });
  const lines = cells.map((cell) => `  { ${cell.map(([name, value]) => `${name} = ${JSON.stringify(value)}`).join(", ")} },`);
  const differing = content.order.filter((name) => new Set(cells.map((cell) => JSON.stringify(new Map(cell).get(name)))).size > 1);
  const everywhere = differing.filter((name) => cells.every((cell) => new Map(cell).has(name)));
  const rows = everywhere.length > 0 ? everywhere : cells[0].slice(0, 1).map(([name]) => name);
  const table = content.columns === "" || rows.length === 0 || everywhere.length < differing.length ? "" :
    `\n[[tables]]\nid = "settings"\ntitle = "The settings"\nrows = ${JSON.stringify(rows)}\ncolumns = [\n${content.columns}]\n`;
  return `${content.study}\n[[grids]]\ncells = [\n${[...new Set(lines)].join("\n")}\n]\n${table}`;
}

/**
 * A control's value with its unit, which is singular after 1: "1 packet", "4 packets", "1 ms". Words have none.
 * @param {string} value
 * @param {string} unit
 */
function measured(value, unit) {
  if (unit === "" || !/^[\d.]+$/.test(value)) return value;
  return `${value} ${value === "1" ? unit.replace(/^([a-z]{3,})s$/, "$1") : unit}`;
}

class Explorer {
  /** @param {Engines} engine @param {Content} content */
  constructor(engine, content) {
    this.engine = engine;
    this.content = content;
    this.status = element("live-status", HTMLElement);
    this.replicate = element("live-replicate", HTMLInputElement);
    this.compare = element("explore-compare", HTMLInputElement);
    this.which = element("explore-which", HTMLElement);
    this.graphs = new Graphs((node, connection) => {
      this.node = node;
      this.connection = connection;
      this.run();
    }, content.look.map(([name]) => name));
    this.inputs = content.controls.map((control, k) => this.input(control, k));
    /** @type {Setting[]} */
    this.settings = [];
    /** The one that the controls move. */
    this.edited = 0;
    this.node = likelySender(content.base);
    /** @type {number | null} */
    this.connection = null;
    this.worker = startWorker(engine);
    this.listenTo(this.worker);
    /** What the Worker is running. @type {{ key: string, began: number } | null} */
    this.running = null;
    /** How long the last run took, in ms. */
    this.took = 0;
    /** Finished runs by what was asked, the oldest first. @type {Map<string, Run>} */
    this.done = new Map();
    /** What does not run. @type {Set<string>} */
    this.failures = new Set();
    /** What was asked for the picture that is shown. */
    this.shown = "";
    /** The control that moved last. */
    this.control = 0;
    this.moved = performance.now();
    this.listen();
    this.load(location.hash);
  }

  listen() {
    /** @param {string} id @param {() => void} act */
    const button = (id, act) => element(id, HTMLButtonElement).addEventListener("click", act);
    button("explore-export", () => this.save());
    button("explore-start", () => (location.hash = ""));
    this.compare.addEventListener("change", () => {
      this.settings = this.compare.checked ? [this.settings[0], [...this.settings[0]]] : [this.settings[0]];
      this.edited = this.settings.length - 1;
      this.changed();
    });
    for (const [k, id] of ["explore-a", "explore-b"].entries()) {
      element(id, HTMLInputElement).addEventListener("change", () => {
        this.edited = k;
        this.showControls();
      });
    }
    this.replicate.addEventListener("change", () => this.changed());
    // In a notebook the widget around the page holds its address, too.
    window.addEventListener("message", ({ source, data }) => {
      if (source !== parent || typeof data?.cwndlab !== "string" || data.cwndlab === this.address()) return;
      this.load(data.cwndlab);
    });
    window.addEventListener("hashchange", () => {
      if (location.hash !== this.address()) this.load(location.hash);
    });
  }

  /** The slider or list of a control. @param {Control} control @param {number} k */
  input(control, k) {
    const input = document.getElementById(`control-${control.name}`);
    if (!(input instanceof HTMLInputElement || input instanceof HTMLSelectElement)) throw new Error(`no control ${control.name}`);
    input.addEventListener("input", () => {
      this.control = k;
      this.settings[this.edited][k] = Number(input.value);
      this.changed();
    });
    return input;
  }

  /** The part of the page's address that holds the settings. */
  address() {
    return toHash(this.content, this.settings, Number(this.replicate.value));
  }

  /** Takes the settings from an address. @param {string} hash */
  load(hash) {
    const { settings, replicate } = fromHash(this.content, hash);
    this.settings = settings;
    this.edited = Math.min(this.edited, settings.length - 1);
    this.replicate.value = String(replicate);
    this.changed();
  }

  changed() {
    this.moved = performance.now();
    this.shown = "";
    this.showControls();
    const hash = this.address();
    // Not the fragment alone: in a notebook's frame it would be resolved against the notebook's address.
    if (location.hash !== hash) history.replaceState(null, "", document.URL.replace(/#.*/, "") + hash);
    if (parent !== window) parent.postMessage({ cwndlab: hash }, "*");
    this.run();
  }

  /** What to look for in graphs: of each the first text whose conditions all settings meet. */
  lookFor() {
    /** @param {Record<string, string[]>} when */
    const holds = (when) =>
      this.settings.every((setting) =>
        this.content.controls.every((control, k) => when[control.name]?.includes(String(control.stops[setting[k]].value)) ?? true),
      );
    return Object.fromEntries(
      this.content.look.flatMap(([name, cases]) => cases.filter(([when]) => holds(when)).slice(0, 1).map(([, text]) => [name, text])),
    );
  }

  showControls() {
    this.graphs.tell(this.lookFor());
    this.compare.checked = this.settings.length > 1;
    this.which.hidden = !this.compare.checked;
    element(this.edited === 0 ? "explore-a" : "explore-b", HTMLInputElement).checked = true;
    for (const [k, control] of this.content.controls.entries()) {
      const position = this.settings[this.edited][k];
      const input = this.inputs[k];
      const { title } = control.stops[position];
      input.value = String(position);
      if (control.ordered) input.setAttribute("aria-valuetext", title);
      element(`control-${control.name}-value`, HTMLElement).textContent = control.ordered ? measured(title, control.unit) : "";
      const differs = this.settings.some((setting) => setting[k] !== this.settings[0][k]);
      input.parentElement?.classList.toggle("differs", differs);
    }
  }

  /** The replicate that is shown. */
  number() {
    return Math.max(0, Math.floor(Number(this.replicate.value) || 0));
  }

  /** What to ask the Worker for, for a scenario. @param {Scenario} scenario */
  key(scenario) {
    return `${this.number()} ${JSON.stringify(observed(scenario, this.node))}`;
  }

  /** Runs what is not yet run of the settings, and draws when all are there. */
  run() {
    const scenarios = this.settings.map((setting) => scenarioOf(this.content, setting));
    const problem = scenarios.find((one) => typeof one === "string");
    if (problem !== undefined) {
      this.status.textContent = `These values do not go together: ${problem}`;
      return;
    }
    const wanted = /** @type {Scenario[]} */ (scenarios);
    const asked = wanted.map((scenario) => this.key(scenario));
    const next = asked.find((key) => !this.done.has(key));
    if (next === undefined) {
      if (this.shown !== asked.join()) this.draw(wanted, asked);
      this.runAhead();
      return;
    }
    if (this.running !== null && this.running.key !== next && performance.now() - this.running.began > PATIENCE) {
      this.worker.terminate();
      this.worker = startWorker(this.engine);
      this.listenTo(this.worker);
      this.running = null;
    }
    if (this.running !== null) return; // when it is done, this is called again
    this.status.textContent = "Running\u2026";
    this.ask(next);
  }

  /** Has a setting run. @param {string} key */
  ask(key) {
    this.running = { key, began: performance.now() };
    const scenario = key.slice(key.indexOf(" ") + 1);
    /** @type {Asked} */
    const message = { scenario, exact: null, seed: this.content.seed, replicate: this.number() };
    this.worker.postMessage(message);
  }

  /**
   * Runs the next values of the control that moved last, if nothing else is to be done: most likely they are wanted next.
   * The first of these runs also lead the browser to optimize the engine.
   */
  runAhead() {
    if (this.running !== null || this.took > LONG) return;
    for (const step of [1, -1]) {
      const setting = [...this.settings[this.edited]];
      setting[this.control] += step;
      if (!this.content.controls[this.control]?.stops[setting[this.control]]) continue;
      const scenario = scenarioOf(this.content, setting);
      if (typeof scenario === "string") continue;
      const key = this.key(scenario);
      if (this.done.has(key) || this.failures.has(key)) continue;
      this.ask(key);
      return;
    }
  }

  /** Keeps a run as the newest, and forgets the oldest. @param {string} key @param {Run} run */
  keep(key, run) {
    this.done.delete(key);
    this.done.set(key, run);
    const oldest = [...this.done.keys()].slice(0, -KEPT);
    for (const one of oldest) this.done.delete(one);
  }

  /** @param {Worker} worker */
  listenTo(worker) {
    /** @param {MessageEvent<Answer>} event */
    worker.onmessage = ({ data }) => {
      if (this.running === null) return;
      const { key, began } = this.running;
      this.running = null;
      this.took = performance.now() - began;
      if ("run" in data) {
        this.keep(key, data.run);
        this.run();
      } else if ("error" in data) this.failed(key, data.error);
    };
    worker.onerror = (event) => {
      this.running = null;
      this.status.textContent = `The run failed: ${event.message}`;
    };
  }

  /** Reports why a setting does not run, if it is one of those to show. @param {string} key @param {string} reason */
  failed(key, reason) {
    this.failures.add(key);
    const wanted = this.settings.map((setting) => scenarioOf(this.content, setting));
    const mine = wanted.some((scenario) => typeof scenario !== "string" && this.key(scenario) === key);
    if (mine) this.status.textContent = `This setting does not run: ${reason}`;
    else this.run();
  }

  /** @param {Scenario[]} scenarios @param {string[]} asked */
  draw(scenarios, asked) {
    const shots = scenarios.map((scenario, k) => {
      const run = this.done.get(asked[k]);
      if (!run) throw new Error("a run is missing");
      this.keep(asked[k], run);
      return { label: "AB"[k], run, scenario };
    });
    const { graphs } = this;
    this.shown = asked.join();
    const { node } = this;
    graphs.receive(shots, node, this.connection);
    if (this.node !== node) return; // the busiest sender was not observed, so it runs again
    this.connection = Number(graphs.sender.value);
    this.status.textContent = `Shown ${Math.round(performance.now() - this.moved)} ms after the change.`;
  }

  save() {
    const link = document.createElement("a");
    const text = studyFile(this.content, this.settings);
    link.href = URL.createObjectURL(new Blob([text], { type: "application/toml" }));
    link.download = `${this.content.name}.toml`;
    link.click();
    URL.revokeObjectURL(link.href);
  }
}

/** A run that takes longer than this, in ms, is given up when something else is wanted. */
const PATIENCE = 200;
/** After a run that took longer than this, in ms, none is made ahead. */
const LONG = 1000;
/** Runs that are kept: two settings with the next values of a control, and some to go back to. */
const KEPT = 8;

async function explore() {
  const [engine, content] = await carried();
  document.documentElement.classList.add("live");
  new Explorer(engine, /** @type {Content} */ (content));
}

void explore();
