// What the closed forms say of one problem: accuracies, noises, and which of them is the bottleneck.

import { analyse } from "./accuracy.js";
import { budget, dominant } from "./noise.js";
import { LETTERS, noClosedForm, resized, settle, SIZES } from "./problem.js";

export const ACCURACIES = ["attention_accuracy", "recall_accuracy", "first_gradient_accuracy"];
const OVERFLOW =
  "no closed form at these sizes: terms of it leave the range of floating-point numbers; " +
  "choose sizes that are less far apart";

/** Attention, recall and first-gradient accuracy of a problem, and what limits them; or a reason why not. */
export function predict(problem) {
  const reason = noClosedForm(problem);
  if (reason) return { reason };
  const s = settle(problem);
  const found = analyse(s);
  if (!ACCURACIES.every((name) => Number.isFinite(found[name]))) return { reason: OVERFLOW };
  const noise = budget(s, found);
  const bottleneck = dominant(s, found, noise);
  for (const stage in noise) {
    // What the population leaves of order 1/N is 0.
    for (const term in noise[stage]) if (!(noise[stage][term] > 1e-60)) noise[stage][term] = 0;
  }
  return {
    reason: null,
    ...Object.fromEntries(ACCURACIES.map((name) => [name, found[name]])),
    noise,
    dominant: bottleneck,
  };
}

/** One accuracy, and nothing else: NaN where there is no closed form. */
export function accuracyOf(problem, name = "recall_accuracy") {
  if (noClosedForm(problem)) return NaN;
  return analyse(settle(problem), name)[name];
}

// The leading terms of each noise, as powers of V, N, d, L, m.
const LAWS = {
  "attention gradient_noise": [[2, -2, -4, 3, 0], [2, -2, -3, 2, 0], [1, -1, -3, 1, 0], [1, -1, -4, 2, 0]],
  "attention mean_bias": [[1, -2, -3, 4, 0]],
  "attention mlp_noise": [[2, -2, -2, 3, -1], [1, -2, -2, 4, -1], [2, -2, -3, 3, -1]],
  "attention cross_talk": [[0, 0, -1, 0, 0]],
  "recall interference": [[1, 0, -2, 0, 0], [2, -1, -2, 0, 0]],
  "recall kernel_interference": [[1, 0, -3, 0, 0]],
  "recall mlp_noise": [[1, 0, -1, 0, -1], [2, -1, -1, 0, -1]],
  "recall mean_bias": [[2, -1, -1, 0, 0]],
  "recall sampling": [[1, -1, 0, 0, 0]],
};

/** The law that a noise comes closest to at these sizes; if to none, its slopes to the nearest half. */
export function exponentsOf(problem, { stage, term }) {
  const slopes = slopesOf(problem, stage, term);
  const far = (law) => Math.max(...law.map((power, i) => Math.abs(power - slopes[i])));
  const laws = LAWS[`${stage} ${term}`] ?? [];
  const nearest = laws.reduce((best, law) => (far(law) < far(best) ? law : best), laws[0]);
  const law = far(nearest) > 0.45 ? slopes.map((slope) => Math.round(2 * slope) / 2) : nearest;
  return Object.fromEntries(SIZES.map((name, i) => [name, law[i] + 0]));
}

/** Log-derivatives of one noise term by each size. */
function slopesOf(problem, stage, term) {
  const step = 1e-5;
  const s = settle(problem);
  const logNoise = (changed) =>
    Math.log(Math.max(budget(changed, analyse(changed))[stage][term], 1e-300));
  const here = logNoise(s);
  return SIZES.map((name) => {
    const letter = LETTERS[name];
    if (s[letter] === Infinity) return 0; // attention alone has no width
    // Upwards only, as no size may fall below 1.
    return (logNoise(resized(s, letter, s[letter] * (1 + step))) - here) / Math.log1p(step);
  });
}
