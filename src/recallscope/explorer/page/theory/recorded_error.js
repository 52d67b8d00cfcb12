// How far off the closed forms were at the simulated problems nearest to one, in units of
// √(p (1 − p)): predictions near 0 or 1 cannot be far off.

import { POPULATION, SIZES } from "./problem.js";

const NEAREST = 40;
const INSIDE = 0.9; // of the nearest problems, and of one more
const CLOSE = 0.1; // of accuracy, which counts as much as a factor of e in every size
const LEAST = 0.02; // in the unit of errors, at predictions of 0 and 1

/**
 * The error of a closed form in simulations near a problem. Problems are near if they have the same
 * kind of model, and similar sizes and predicted accuracy. Each row of `simulated` is a problem with
 * its simulated and predicted accuracies.
 */
export function recordedError(problem, accuracy, expected, simulated) {
  const hasWidth = problem.width !== null;
  const alike = simulated.filter(
    (row) => (row.width !== null) === hasWidth && row.trigger_in_values === problem.trigger_in_values,
  );
  return errorNear(
    expected,
    alike.map((row) => {
      let distance = 0;
      for (const name of SIZES) {
        if (name === "width" && !hasWidth) continue;
        const size = Math.min(problem[name], POPULATION);
        distance += Math.log(row[name] / size) ** 2 / SIZES.length;
      }
      return { distance, predicted: row.predicted[accuracy], measured: row.simulated[accuracy] };
    }),
  );
}

/** What errors come to at an expected accuracy, by the nearest problems: 90 % are within `most`. */
export function errorNear(expected, rows) {
  const far = (row) => row.distance + ((row.predicted - expected) / CLOSE) ** 2;
  const off = rows
    .sort((a, b) => far(a) - far(b))
    .slice(0, NEAREST)
    .map((row) => (Math.abs(row.predicted - row.measured) * unit(expected)) / unit(row.predicted))
    .sort((a, b) => a - b);
  const mean = off.reduce((sum, error) => sum + error, 0) / off.length;
  const most = off[Math.min(Math.ceil(INSIDE * (off.length + 1)), off.length) - 1];
  return { problems: off.length, mean, most };
}

function unit(accuracy) {
  const inside = Math.min(Math.max(accuracy, 0), 1);
  return Math.sqrt(inside * (1 - inside) + LEAST ** 2);
}
