// A page in a notebook, by anywidget's protocol: a frame keeps its styles and its strict policy inside, and its address
// (the settings) is the widget's. The one module of this folder that is loaded as such, not put into a page.

/**
 * @typedef {{ get(name: string): string, set(name: string, value: string): void, save_changes(): void,
 *   on(event: string, act: () => void): void, off(event: string, act: () => void): void }} Model
 */

/** @param {{ model: Model, el: HTMLElement }} place */
function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.title = model.get("title");
  frame.style.cssText = `width: 100%; height: ${model.get("height")}; border: 0`;
  // The page may be a stranger's: its scripts run, but reach nothing of the notebook.
  frame.setAttribute("sandbox", "allow-scripts allow-downloads");
  frame.srcdoc = model.get("html");
  const tell = () => frame.contentWindow?.postMessage({ cwndlab: model.get("address") }, "*");
  const told = () => model.get("address") && tell();
  /** @param {MessageEvent} event */
  const hear = ({ source, data }) => {
    if (source !== frame.contentWindow || typeof data?.cwndlab !== "string") return;
    model.set("address", data.cwndlab);
    model.save_changes();
  };
  frame.addEventListener("load", told);
  window.addEventListener("message", hear);
  model.on("change:address", told);
  el.append(frame);
  return () => {
    window.removeEventListener("message", hear);
    model.off("change:address", told);
  };
}

export default { render };
