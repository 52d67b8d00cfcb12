// Attention alone over orthogonal embeddings: whole counts compete, ties are shared. eq:orthogonal.

import { pdtr } from "./special.js";

const BINS = 129;
const MANY = 1e12; // samples for each fact; more make no difference

/**
 * A label that occurred n times met the token asked for Poisson(n (L−1)/V) times as a distractor, and
 * n times more if the token is its own. In the third step there are no distractors; with the trigger
 * in the values each label then counts n, and that of the token 2n.
 */
export function orthogonalAccuracy(s, thirdStep) {
  const rate = Math.min(s.perToken, MANY);
  let [count, weight, upTo] = [null, null, null];
  if (thirdStep) {
    const bins = poissonBins(rate);
    count = s.marked ? bins.count.map((n) => 2 * n) : bins.count;
    weight = bins.weight;
    upTo = (k) => atMost(k, s.marked ? rate : 0);
  } else {
    const met = (s.L - 1) / s.V;
    const bins = binsAbout(rate * (1 + met), rate * (1 + met) * (1 + met));
    const occurred = poissonBins(rate);
    count = bins.middles;
    weight = differences(bins.edges.map((edge) => metUpTo(edge, occurred, 1, met)));
    upTo = (k) => metUpTo(k, occurred, 0, met);
  }
  let found = 0;
  count.forEach((k, i) => {
    if (!(weight[i] > 0)) return;
    const reached = upTo(k);
    const below = upTo(k - 1);
    const tied = Math.max(reached - below, 1e-300);
    const wins =
      tied > 1e-12 ? (reached ** s.V - below ** s.V) / (s.V * tied) : below ** (s.V - 1);
    found += weight[i] * wins;
  });
  return Math.min(found, 1);
}

/** The middles and the upper ends of bins about a mean: single numbers, if they are few. */
function binsAbout(mean, variance) {
  const reach = 8 * Math.sqrt(variance) + 8;
  const low = Math.max(Math.floor(mean - reach), 0);
  const width = Math.max(mean + reach - low, BINS - 1);
  const edges = Array.from({ length: BINS }, (_, i) =>
    Math.floor(low + (i * width) / (BINS - 1) + 1e-9),
  );
  const middles = edges.map((edge, i) => Math.floor(((i ? edges[i - 1] : low - 1) + 1 + edge) / 2));
  return { middles, edges };
}

const differences = (values) => values.map((value, i) => value - (i ? values[i - 1] : 0));

/** How often labels occur, with weights. */
function poissonBins(rate) {
  const { middles, edges } = binsAbout(rate, rate);
  return { count: middles, weight: differences(edges.map((edge) => atMost(edge, rate))) };
}

/** The probability that a Poisson number is at most `count`. */
function atMost(count, rate) {
  return count < 0 ? 0 : pdtr(count, Math.max(rate, 1e-300));
}

/** P(times · n + Poisson(met · n) ≤ count) for n of how often labels occur. */
function metUpTo(count, occurred, times, met) {
  let found = 0;
  occurred.count.forEach((n, i) => {
    found += occurred.weight[i] * atMost(count - times * n, met * n);
  });
  return found;
}
