// The law for the end of training: recall if the model is trained until it learns no more.
//
// Recall = attention × facts seen × memory. The memory is derived (memory_recall.js). How often
// attention finds the trigger is fitted, as a function of the signal-to-noise ratio of first steps.

import { locking } from "./locking.js";
import { edge } from "./memory_edge.js";
import { factsSeen, memoryRecall } from "./memory_recall.js";
import { settle } from "./problem.js";
import { means } from "./readout.js";

/** The learners that the law covers. */
export const TRAINED = ["adam", "gd", "muon", "converged"];

// Fitted: the logistic function of a constant, and of the logarithms of the signal-to-noise ratio
// and of the samples for each fact.
const FOUND = { gd: [3.7, 0.75, 0.45], adam: [2.2, 0.95, 1.5], muon: [2.2, 0.95, 1.5] };
const BLUR = 2.5; // fitted: how much wider the capacity threshold is, if attention learns too

/** The trigger's score after the first steps over its standard deviation. */
function signalToNoise({ vocab, samples, dim, length }) {
  const plain = { vocab, samples, dim, length, embedding: "sphere", trigger_in_values: false };
  const s = settle(plain);
  const scores = locking(s, means(s));
  return scores.signal / Math.sqrt(scores.triggerVariance);
}

/** The law for one problem that it covers. */
export function endOfTraining(problem, tables) {
  const { vocab, samples, dim, learner } = problem;
  const facts = factsSeen(vocab, samples);
  const seen = facts.reduce((sum, each) => sum + each.number, 0);
  // More keys than facts are of no use.
  const parameters = dim * Math.min(problem.width ?? dim, Math.ceil(seen));
  let [lock, blur] = [1, 1];
  if (learner !== "converged") {
    const [constant, ofSignal, ofSamples] = FOUND[learner];
    const odds = ofSignal * Math.log(signalToNoise(problem)) + ofSamples * Math.log(samples / vocab);
    lock = 1 / (1 + Math.exp(-constant - odds));
    blur = BLUR;
  }
  // A fact that attention does not find takes no space.
  const found = facts.map(({ number, times }) => ({ number: lock * number, times }));
  const memory = memoryRecall(vocab, parameters, found, dim, blur, tables);
  return {
    lock_accuracy: lock,
    facts_seen: seen / vocab,
    memory_accuracy: memory,
    recall_accuracy: (lock * seen * memory) / vocab,
    parameters,
    edge: edge(vocab, lock * seen, dim, tables).parameters,
  };
}
