// The noise budget: at each stage, which noise there is, how much of it, and which is the bottleneck.

import { crossTalk, scoreVariance } from "./locking.js";
import { sampling } from "./readout.js";
import { ndtri } from "./special.js";

export const STAGES = ["one_step", "lock", "recall"];

// `sampling` is how unevenly a batch shows the facts; it moves the right label, the other terms the
// wrong ones.
export const TERMS = {
  one_step: ["interference", "kernel_interference", "gradient_noise", "mlp_noise", "mean_bias", "sampling"],
  lock: ["gradient_noise", "mean_bias", "mlp_noise", "cross_talk"],
  recall: ["interference", "kernel_interference", "mlp_noise", "mean_bias", "sampling"],
};

/** Variances by stage and term, all in units of the squared signal of the stage. */
export function budget(s, found) {
  return {
    one_step: found.oneStep ? oneStepTerms(s, found.oneStep) : null,
    lock: lockTerms(s, found.locking),
    recall: recallTerms(s, found.recall),
  };
}

function lockTerms(s, scores) {
  // A sequence of one token has nothing to lock, no signal and no noise.
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

function oneStepTerms(s, { terms, bias }) {
  const { interference, kernel_interference, gradient_noise, mlp_noise, mean_bias } = terms;
  const uneven = sampling(s.V, s.N, bias);
  return { interference, kernel_interference, gradient_noise, mlp_noise, mean_bias, sampling: uneven };
}

/** The bottleneck: a noise of locking if that fails more often than the read, else of the read. */
export function dominant(s, found, terms, accuracy = "recall_accuracy") {
  // Where neither fails, what differs is rounding.
  let stage = found.lock_accuracy < found.lockedAccuracy - 1e-12 ? "lock" : "recall";
  if (accuracy === "lock_accuracy") stage = "lock";
  if (accuracy === "one_step_accuracy") stage = "one_step";
  let largest = TERMS[stage][0];
  // Noise of wrong labels counts by the highest of V draws, that of the right label by itself.
  const highest = Math.max(ndtri(1 / s.V) ** 2, 1);
  const cost = (name) => terms[stage][name] * (name === "sampling" ? 1 : highest);
  for (const name of TERMS[stage]) if (cost(name) > cost(largest)) largest = name;
  return { stage, term: largest };
}
