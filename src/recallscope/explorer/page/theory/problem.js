// A problem as the closed forms take it: sizes by their letters, options as what they mean.

export const ACTIVATIONS = ["relu", "gelu", "tanh", "quadratic", "identity", "centred-relu"];
export const SIZES = ["vocab", "samples", "dim", "length", "width"];
export const LETTERS = { vocab: "V", samples: "N", dim: "d", length: "L", width: "m" };

/** Whether more of a size helps. */
export const GROWS = { samples: true, dim: true, width: true, vocab: false, length: false };

/** Which formulas apply to an embedding. */
const FORMS = { sphere: "sphere", rademacher: "sphere", gaussian: "gaussian", orthogonal: "orthogonal" };
export const EMBEDDINGS = Object.keys(FORMS);

export const POPULATION = 1e100; // stands for N = ∞: terms of order 1/N vanish

/** Why the closed forms do not cover a problem; null if they do. */
export function noClosedForm(problem) {
  if (problem.regime && problem.regime !== "limit") {
    return `no closed form: they hold in the limit regime (η → 0, γ → ∞), not in the ${problem.regime} regime`;
  }
  if (!(problem.embedding in FORMS)) return `no closed form for the embedding ${problem.embedding}`;
  if (problem.embedding === "orthogonal" && problem.dim < problem.vocab + 1) {
    return "orthogonal embeddings need dim >= vocab + 1 (the trigger needs a direction too)";
  }
  return null;
}

/** Attention alone is the identity in an infinitely wide MLP, so one formula serves both models. */
export function settle(problem) {
  const m = problem.width ?? Infinity;
  const form = FORMS[problem.embedding];
  return withRatios({
    V: problem.vocab,
    N: Math.min(problem.samples, POPULATION),
    d: problem.dim,
    L: problem.length,
    m,
    activation: m === Infinity ? "identity" : (problem.activation ?? "relu"),
    gaussian: form === "gaussian", // lengths of embeddings fluctuate
    orthogonal: form === "orthogonal",
    marked: problem.trigger_in_values, // the trigger is in the values
    perToken: 0,
    space: 0,
  });
}

/** The same problem with one size changed. */
export function resized(s, letter, value) {
  return withRatios({ ...s, [letter]: value });
}

function withRatios(s) {
  s.perToken = s.N / s.V; // λ, the samples that show each fact
  s.space = s.orthogonal ? Infinity : s.d; // 1/space is the mean square overlap
  return s;
}
