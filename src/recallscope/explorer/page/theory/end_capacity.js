// The capacity threshold: how many parameters store a number of facts without error.
//
// Derived in docs/end-of-training.md. The mean and the variance of the pool of a label, which are
// integrals over a characteristic function, come from Python as Chebyshev series in log V; so does
// the fraction of the pool that is left among outputs in few dimensions, as a table.

import { ndtr } from "./special.js";

/** How many rivals a label has to be raised against: mean and variance. */
export function pool(vocab, table) {
  const [low, high] = table.range.map(Math.log);
  const x = (2 * Math.log(vocab) - low - high) / (high - low);
  return { mean: chebyshev(table.mean, x), variance: chebyshev(table.variance, x) };
}

function chebyshev(coefficients, x) {
  let [after, here] = [0, 0];
  for (let n = coefficients.length - 1; n > 0; n--) {
    [after, here] = [here, coefficients[n] + 2 * x * here - after];
  }
  return coefficients[0] + x * here - after;
}

/** How many dimensions the cone of a label lacks, among V random outputs in d dimensions. */
function cone(vocab, dim, mean, rows) {
  const crowding = mean * (1 / dim - 1 / Math.max(vocab - 1, 1));
  if (crowding <= 0) return mean;
  const labels = rows.map((row) => Math.log(row.vocab));
  const place = interpolated(Math.log(vocab), labels, [...rows.keys()]);
  const [low, high] = [Math.floor(place), Math.ceil(place)].map((at) =>
    interpolated(crowding, rows[at].crowding, rows[at].left),
  );
  return Math.min(mean * (low + (place - Math.floor(place)) * (high - low)), dim);
}

/** Linear interpolation in a rising table, constant beyond its ends. */
function interpolated(x, at, values) {
  if (x <= at[0]) return values[0];
  const next = at.findIndex((each) => each >= x);
  if (next < 0) return values.at(-1);
  const part = (x - at[next - 1]) / (at[next] - at[next - 1]);
  return values[next - 1] + part * (values[next] - values[next - 1]);
}

/** The capacity threshold for some facts, each with one of V labels in R^d. */
export function edge(vocab, facts, dim, tables) {
  const { mean, variance } = pool(vocab, tables.pool);
  const lacking = cone(vocab, dim, mean, tables.cones);
  return {
    parameters: facts * lacking,
    spread: (lacking / mean) * Math.sqrt(facts * variance),
    independent: facts * mean, // if all scores were independent
  };
}

/** The fraction of memories with so many parameters that store every fact. */
export function fractionThatStore(full, parameters, blur = 1) {
  return ndtr((parameters - full.parameters) / (blur * full.spread));
}
