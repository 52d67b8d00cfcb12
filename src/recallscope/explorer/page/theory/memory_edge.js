// Where a memory is full: how many parameters hold a number of facts without error.
//
// Derived in docs/end-of-training.md. The mean and the variance of the pool of a label, which are
// integrals over a characteristic function, come from Python as Chebyshev series in log V.

import { ndtr } from "./special.js";

const EARLIER = 0.4; // measured: scores that share their embeddings are held by fewer parameters

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

/** Where a memory of some facts is full, each of which is to be told from all V labels. */
export function edge(vocab, facts, table) {
  const { mean, variance } = pool(vocab, table);
  return {
    parameters: facts * mean * (1 - EARLIER * Math.sqrt(mean / vocab)),
    spread: Math.sqrt(facts * variance),
    independent: facts * mean, // where it would be if all scores were
  };
}

/** How many of all memories with so many parameters hold every fact. */
export function shareThatHold(full, parameters, blur = 1) {
  return ndtr((parameters - full.parameters) / (blur * full.spread));
}
