// Logarithmic axes.

import { whole } from "./words.js";

/** Powers of two, or of ten if there are many, between two sizes. */
export function ticks(low, high) {
  const doublings = Math.log2(high / low);
  const base = doublings > 24 ? 100 : doublings > 14 ? 16 : doublings > 7 ? 4 : 2;
  const found = [];
  const first = Math.ceil(Math.log(low) / Math.log(base) - 1e-9);
  for (let k = first; base ** k <= high * (1 + 1e-9); k++) found.push(base ** k);
  return found;
}

/** A size on an axis. */
export function short(value) {
  if (value < 1) return `1/${whole(1 / value)}`;
  return value >= 1e7 ? value.toExponential(0).replace("e+", "e") : whole(value);
}

/** From a size to a place between two ends. */
export function logScale(low, high, from, to) {
  const per = (to - from) / Math.log(high / low);
  return (value) => from + per * Math.log(value / low);
}
