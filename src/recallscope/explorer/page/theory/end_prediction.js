// What the law of the end says of one problem; silent where it was not measured.

import { endOfTraining, TRAINED } from "./end_law.js";
import { errorNear } from "./recorded_error.js";
import { outside } from "./tested_range.js";

/** Where the law of gd, adam and muon was found and judged, with d below V. */
const MEASURED = { vocab: [64, 512], dim: [5, 125], length: [2, 128], "samples per fact": [0.25, 32] };

/** Where the minimum was, of facts that are all seen. */
const MEMORY = { vocab: [64, 4096], dim: [5, 512], "width per dim": [0.8, 9] };

/** Recall at the end of training and what it is the product of; or a reason why not. */
export function predictEnd(problem, tables) {
  const reason = noLaw(problem);
  return reason ? { reason } : { reason: null, ...endOfTraining(problem, tables) };
}

/** Why the law says nothing of a problem; null if it does. */
export function noLaw(problem) {
  if (!TRAINED.includes(problem.learner)) {
    return `no law of training for the learner ${problem.learner}`;
  }
  const other = [...otherSizes(problem), ...otherOptions(problem)];
  return other.length ? `no law of training at ${other.join("; ")}` : null;
}

function otherSizes(problem) {
  const { vocab, samples, dim, length, width } = problem;
  const sizes = {
    vocab,
    dim,
    length,
    "samples per fact": samples / vocab,
    "width per dim": (width ?? dim) / dim,
  };
  let ranges = MEASURED;
  if (problem.learner === "converged") {
    ranges = { ...MEMORY, vocab: MEASURED.vocab, "samples per fact": [0.25, Infinity] };
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
export function endError(problem, expected, trained) {
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
