// How far off the closed forms were at the simulated problems nearest to one.

import { POPULATION, SIZES } from "./problem.js";

const NEAREST = 30;

/**
 * The error of a closed form near a problem, as simulations have shown it: near are problems of the
 * same kind of model whose sizes, and whose predicted accuracy, are. Each row of `simulated` is a
 * problem with what was simulated and what is predicted of it.
 */
export function recordedError(problem, accuracy, expected, simulated) {
  const hasWidth = problem.width !== null;
  const alike = simulated.filter(
    (row) => (row.width !== null) === hasWidth && row.trigger_in_values === problem.trigger_in_values,
  );
  return errorOfNearest(
    alike.map((row) => {
      const predicted = row.predicted[accuracy];
      // A factor of e in every size weighs as much as 0.2 in accuracy.
      let distance = ((predicted - expected) / 0.2) ** 2;
      for (const name of SIZES) {
        if (name === "width" && !hasWidth) continue;
        const size = Math.min(problem[name], POPULATION);
        distance += Math.log(row[name] / size) ** 2 / SIZES.length;
      }
      return { distance, error: predicted - row.simulated[accuracy] };
    }),
  );
}

/** What the errors of the nearest of all problems come to: mean size, and what 90 % are within. */
export function errorOfNearest(rows) {
  const nearest = rows
    .sort((a, b) => a.distance - b.distance)
    .slice(0, NEAREST)
    .map((row) => Math.abs(row.error));
  const mean = nearest.reduce((sum, error) => sum + error, 0) / nearest.length;
  return { problems: nearest.length, mean, most: quantile(nearest.sort((a, b) => a - b), 0.9) };
}

function quantile(sorted, share) {
  const place = share * (sorted.length - 1);
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}
