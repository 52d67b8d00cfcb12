// The law for the end of training: recall if the model is trained until it learns no more.
//
// Recall = trigger found × attention × facts seen × memory. The memory is derived
// (memory_recall.js). Whether a training finds the trigger is partly derived, partly fitted.

import { attentionScores } from "./attention_scores.js";
import { edge } from "./end_capacity.js";
import { factsSeen, memoryRecall } from "./memory_recall.js";
import { settle } from "./problem.js";
import { means } from "./readout.js";
import { ndtr } from "./special.js";

/** The learners that the law covers. */
export const TRAINED = ["adam", "gd", "muon", "converged"];

// Fitted: how soon a training turns round that begins on the wrong side.
const TURNS = { gd: 0.75, adam: 0.22, muon: 0.65 };
// Fitted: a constant, and coefficients of the logarithms of the signal-to-noise ratio, of the
// samples for each fact, and of the parameters over those that store every fact.
const ATTENTION_ODDS = {
  gd: [2.7, 0.55, 0.65, 1.6],
  adam: [1.55, 0.6, 0.65, 0.7],
  muon: [2.0, 0.7, 0.6, 1.25],
};
const UNCLEAR = 0.1;
const BLUR = 2.5; // fitted: how much wider the capacity threshold is, if attention learns too

/** The trigger's score after the first steps over its standard deviation. */
function signalToNoise({ vocab, samples, dim, length }) {
  const plain = { vocab, samples, dim, length, embedding: "sphere", trigger_in_values: false };
  const s = settle(plain);
  const scores = attentionScores(s, means(s));
  return scores.signal / Math.sqrt(scores.triggerVariance);
}

/** The probability that a training finds the trigger, and its attention accuracy if it does. */
function attention(problem, filled) {
  const { vocab, samples, learner } = problem;
  const [snr, perFact] = [signalToNoise(problem), samples / vocab];
  const sizes = [1, Math.log(Math.max(snr, 0) + UNCLEAR), Math.log(perFact), Math.log(filled)];
  const odds = ATTENTION_ODDS[learner].reduce((sum, each, i) => sum + each * sizes[i], 0);
  const turned = TURNS[learner] * perFact * Math.sqrt(filled);
  return { found: 1 - ndtr(-snr) * Math.exp(-turned), accuracy: 1 / (1 + Math.exp(-odds)) };
}

/** The law for one problem that it covers. */
export function endOfTraining(problem, tables) {
  const { vocab, samples, dim, learner } = problem;
  const facts = factsSeen(vocab, samples);
  const seen = facts.reduce((sum, each) => sum + each.number, 0);
  // More keys than facts are of no use.
  const parameters = dim * Math.min(problem.width ?? dim, Math.ceil(seen));
  let [found, accuracy, load, blur] = [1, 1, 1, 1];
  if (learner !== "converged") {
    const filled = parameters / edge(vocab, seen, dim, tables).parameters;
    ({ found, accuracy } = attention(problem, filled));
    // A sample that attention gets wrong takes space too, if its fact is seldom seen.
    load = accuracy + (1 - accuracy) * Math.exp((-2 * samples) / vocab);
    blur = BLUR;
  }
  const stored = facts.map(({ number, times }) => ({ number: load * number, times }));
  const memory = memoryRecall(vocab, parameters, stored, dim, blur, tables);
  return {
    trigger_found: found,
    attention_if_found: accuracy,
    attention_accuracy: found * accuracy,
    facts_seen: seen / vocab,
    memory_accuracy: memory,
    recall_accuracy: (found * accuracy * seen * memory) / vocab,
    parameters,
    edge: edge(vocab, load * seen, dim, tables).parameters,
  };
}
