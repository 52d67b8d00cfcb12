// The closed forms turned round: what size reaches a target.

import { accuracyOf } from "./prediction.js";
import { GROWS } from "./problem.js";

const LARGEST = 2 ** 53;

/** The smallest samples, dim or width, or the largest vocab or length; null if there is none. */
export function solve(problem, size, target, accuracy = "recall_accuracy") {
  const reached = (value) => accuracyOf({ ...problem, [size]: value }, accuracy) >= target;
  const [low, high] = rangeOf(problem, size);
  if (!(low <= high)) return null;
  // The accuracy is all but monotone: a grid finds the crossing, halving pins it down.
  const grid = geometric(low, high, 400);
  if (!GROWS[size]) grid.reverse();
  const first = grid.findIndex(reached);
  if (first < 0) return null;
  let value = grid[first];
  let outside = grid[Math.max(first - 1, 0)];
  while (Math.abs(outside - value) > 1) {
    const middle = Math.floor((value + outside) / 2);
    if (reached(middle)) value = middle;
    else outside = middle;
  }
  return value;
}

/** The sizes to search: not all embeddings exist in every dimension. */
function rangeOf(problem, size) {
  const orthogonal = problem.embedding === "orthogonal";
  if (size === "dim") return [orthogonal ? problem.vocab + 1 : 1, LARGEST];
  if (size === "vocab") return [2, orthogonal ? problem.dim - 1 : LARGEST];
  return [1, LARGEST];
}

/** Whole numbers, evenly spaced in the logarithm. */
export function geometric(low, high, count) {
  const step = Math.log(high / low) / (count - 1);
  const values = Array.from({ length: count }, (_, i) => Math.round(low * Math.exp(i * step)));
  return [...new Set(values)];
}
