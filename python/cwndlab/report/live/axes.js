// Scales, ticks and number formats of the graphs.

/** @typedef {[number, number]} Span Lower and upper end. */

/**
 * Round values inside a span, at most about `count`.
 * @param {Span} span
 * @param {number} count
 * @returns {number[]}
 */
function ticks([low, high], count) {
  if (!(high > low)) return [low];
  const raw = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= raw) ?? 10);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, k) => (first + k) * step);
}

/**
 * A value with the digits that tell it from its neighbours `step` apart.
 * @param {number} value
 * @param {number} step
 */
function withDigits(value, step) {
  const digits = Math.min(9, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  return value.toFixed(digits).replace(/^-/, "\u2212");
}

/** @param {number} value */
function shortNumber(value) {
  if (Number.isNaN(value)) return "none";
  const digits = Number.isInteger(value) ? 0 : 2;
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

/**
 * The first index whose value is above `x`, in an ascending array.
 * @param {Float64Array} values
 * @param {number} x
 */
function above(values, x) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}
