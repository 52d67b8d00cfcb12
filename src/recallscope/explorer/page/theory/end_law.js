// The law of the end: what recall comes to if the model is trained until it learns no more.
//
// Recall = attention × facts seen × memory. The memory is derived (memory_recall.js); how often
// attention finds the mark is fitted, as a function of how clearly the first steps point to it.

import { locking } from "./locking.js";
import { edge } from "./memory_edge.js";
import { factsSeen, memoryRecall } from "./memory_recall.js";
import { settle } from "./problem.js";
import { means } from "./readout.js";

/** The learners that the law is about. */
export const TRAINED = ["adam", "gd", "muon", "converged"];

// Measured: the logistic function of a constant, of the logarithm of the clarity and of that of the
// samples for each fact.
const FOUND = { gd: [3.7, 0.75, 0.45], adam: [2.2, 0.95, 1.5], muon: [2.2, 0.95, 1.5] };
const BLUR = 2.5; // measured: how much wider the edge is, with attention that learns too

/** How clearly the first steps point to the mark: the trigger's score, in its deviations. */
function clarity({ vocab, samples, dim, length }) {
  const plain = { vocab, samples, dim, length, embedding: "sphere", trigger_in_values: false };
  const s = settle(plain);
  const scores = locking(s, means(s));
  return scores.signal / Math.sqrt(scores.triggerVariance);
}

/** The law for one problem that it is about. */
export function endOfTraining(problem, tables) {
  const { vocab, samples, dim, learner } = problem;
  const facts = factsSeen(vocab, samples);
  const seen = facts.reduce((sum, each) => sum + each.number, 0);
  // More keys than facts are of no use.
  const parameters = dim * Math.min(problem.width ?? dim, Math.ceil(seen));
  let [lock, blur] = [1, 1];
  if (learner !== "converged") {
    const [constant, ofClarity, ofSamples] = FOUND[learner];
    const odds = ofClarity * Math.log(clarity(problem)) + ofSamples * Math.log(samples / vocab);
    lock = 1 / (1 + Math.exp(-constant - odds));
    blur = BLUR;
  }
  // A fact that attention does not find takes no room.
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
