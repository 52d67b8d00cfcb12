// What the law of the end says of one problem; silent where it was not measured.

import { endOfTraining, TRAINED } from "./end_law.js";
import { errorNear } from "./recorded_error.js";
import { outside } from "./tested_range.js";

/** Recall at the end of training and what it is the product of; or a reason why not. */
export function predictEnd(problem, tables) {
  const reason = noLaw(problem, tables.tested);
  return reason ? { reason } : { reason: null, ...endOfTraining(problem, tables) };
}

/** Why the law does not cover a problem, given the ranges of each law; null if it does. */
export function noLaw(problem, tested) {
  if (!TRAINED.includes(problem.learner)) {
    return `no law of training for the learner ${problem.learner}`;
  }
  const other = [...otherSizes(problem, tested), ...otherOptions(problem)];
  return other.length ? `no law of training at ${other.join("; ")}` : null;
}

function otherSizes(problem, { trained, converged }) {
  const { vocab, samples, dim, length, width } = problem;
  const sizes = {
    vocab,
    dim,
    length,
    "samples per fact": samples / vocab,
    "width per dim": (width ?? dim) / dim,
  };
  let ranges = trained;
  if (problem.learner === "converged") {
    ranges = { ...converged, vocab: trained.vocab, "samples per fact": [0.25, Infinity] };
  }
  const found = outside(sizes, ranges);
  if (dim >= vocab) found.push(`dim ${dim} >= vocab ${vocab}`);
  return found;
}

function otherOptions(problem) {
  const found = [];
  if (problem.regime && problem.regime !== "limit") found.push(`regime ${problem.regime}`);
  if (problem.embedding !== "sphere") found.push(`embedding ${problem.embedding}`);
  if (problem.trigger_in_values) found.push("trigger_in_values True");
  if (problem.width !== null && problem.learner !== "converged") found.push(`width ${problem.width}`);
  if (problem.width !== null && ![null, "relu"].includes(problem.activation)) {
    found.push(`activation ${problem.activation}`);
  }
  return found;
}

/** How far off the law was at the trainings by the same learner that are nearest. */
export function endError(problem, expected, { trained }) {
  const rows = trained.filter((row) => row.learner === problem.learner);
  if (!rows.length) return null;
  const here = [problem.vocab, problem.samples, problem.dim, problem.length];
  return errorNear(
    expected,
    rows.map((row) => {
      const there = [row.vocab, row.samples, row.dim, row.length];
      const distance = there.reduce((sum, size, i) => sum + Math.log(size / here[i]) ** 2, 0) / 4;
      return { distance, predicted: row.predicted, measured: row.recall };
    }),
  );
}
