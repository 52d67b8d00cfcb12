// The noise budget: at each stage, which noise there is, how much of it, and which is the bottleneck.

import { crossTalk, scoreVariance } from "./attention_scores.js";
import { sampling } from "./readout.js";
import { ndtri } from "./special.js";

export const STAGES = ["first_gradient", "attention", "recall"];

// `sampling` is how unevenly a batch shows the facts; it moves the right label, the other terms the
// wrong ones.
export const TERMS = {
  first_gradient: ["interference", "kernel_interference", "gradient_noise", "mlp_noise", "mean_bias", "sampling"],
  attention: ["gradient_noise", "mean_bias", "mlp_noise", "cross_talk"],
  recall: ["interference", "kernel_interference", "mlp_noise", "mean_bias", "sampling"],
};

/** Variances by stage and term, all in units of the squared signal of the stage. */
export function budget(s, found) {
  return {
    first_gradient: found.firstGradient ? firstGradientTerms(s, found.firstGradient) : null,
    attention: attentionTerms(s, found.attention),
    recall: recallTerms(s, found.recall),
  };
}

function attentionTerms(s, scores) {
  // A sequence of one token has no rival, no signal and no noise.
  const alone = s.L === 1;
  const squared = alone ? Infinity : scores.signal ** 2;
  const { gradient_noise, mean_bias, mlp_noise } = scores.terms;
  return {
    gradient_noise: gradient_noise / squared,
    mean_bias: mean_bias / squared,
    mlp_noise: mlp_noise / squared,
    cross_talk: alone ? 0 : crossTalk(1, s.space) * (1 + scoreVariance(scores) / squared),
  };
}

function recallTerms(s, { terms, bias }) {
  const { interference, kernel_interference, mlp_noise, mean_bias } = terms;
  const uneven = sampling(s.V, s.N, bias);
  return { interference, kernel_interference, mlp_noise, mean_bias, sampling: uneven };
}

function firstGradientTerms(s, { terms, bias }) {
  const { interference, kernel_interference, gradient_noise, mlp_noise, mean_bias } = terms;
  const uneven = sampling(s.V, s.N, bias);
  return { interference, kernel_interference, gradient_noise, mlp_noise, mean_bias, sampling: uneven };
}

/** The bottleneck: a noise of attention if that fails more often than the read, else of the read. */
export function dominant(s, found, terms, accuracy = "recall_accuracy") {
  // Where neither fails, what differs is rounding.
  let stage = found.attention_accuracy < found.recallIfAttended - 1e-12 ? "attention" : "recall";
  if (accuracy === "attention_accuracy") stage = "attention";
  if (accuracy === "first_gradient_accuracy") stage = "first_gradient";
  let largest = TERMS[stage][0];
  // Noise of wrong labels counts by the highest of V draws, that of the right label by itself.
  const highest = Math.max(ndtri(1 / s.V) ** 2, 1);
  const cost = (name) => terms[stage][name] * (name === "sampling" ? 1 : highest);
  for (const name of TERMS[stage]) if (cost(name) > cost(largest)) largest = name;
  return { stage, term: largest };
}
