// The closed forms over a plane of two sizes: the accuracy predicted, and the bottleneck at each point.

import { analyse } from "./accuracy.js";
import { budget, dominant } from "./noise.js";
import { noClosedForm, settle } from "./problem.js";

/** An empty map: rows follow y, columns follow x; nothing is known yet. */
export function emptyMap(x, y) {
  const plane = (value) => y.values.map(() => x.values.map(() => value));
  return { values: plane(undefined), bottleneck: plane(null) };
}

/** Work out one cell of a map, if that is not done: NaN where there is no closed form. */
export function fillCell(map, problem, x, y, accuracy, i, j) {
  if (map.values[i][j] !== undefined) return;
  const here = { ...problem, [x.name]: x.values[j], [y.name]: y.values[i] };
  if (noClosedForm(here)) {
    map.values[i][j] = NaN;
    return;
  }
  const s = settle(here);
  const found = analyse(s, accuracy);
  const { stage, term } = dominant(s, found, budget(s, found), accuracy);
  map.values[i][j] = found[accuracy];
  map.bottleneck[i][j] = `${stage} ${term}`;
}

/** Every cell of a map. */
export function phaseMap(problem, x, y, accuracy) {
  const map = emptyMap(x, y);
  for (let i = 0; i < y.values.length; i++) {
    for (let j = 0; j < x.values.length; j++) fillCell(map, problem, x, y, accuracy, i, j);
  }
  return map;
}
