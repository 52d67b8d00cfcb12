// A map that is sketched at once and then completed: few cells first, the others between them.

import { emptyMap, fillCell } from "../theory/phase_map.js";
import { logit } from "./contour.js";

const STRIDES = [3, 6, 12];
const SOON = 60; // milliseconds that a sketch may take
const SLICE = 12; // milliseconds of work, before the page may answer again

/**
 * Give `draw` a sketch of a map, and then the map itself; returns a function that stops the work.
 *
 * A sketch has one cell in nine, or fewer if they take long, and is straight in the logit between.
 */
export function sketchMap(problem, x, y, accuracy, draw) {
  const map = emptyMap(x, y);
  const fill = (i, j) => fillCell(map, problem, x, y, accuracy, i, j);
  const [rows, columns] = [y.values.length, x.values.length];
  const started = performance.now();
  for (const i of [0, rows >> 1, rows - 1]) for (const j of [0, columns >> 1, columns - 1]) fill(i, j);
  const each = (performance.now() - started) / 9;
  const stride = STRIDES.find((step) => (each * rows * columns) / step ** 2 < SOON) ?? STRIDES[2];
  const [known, across] = [every(stride, rows), every(stride, columns)];
  for (const i of known) for (const j of across) fill(i, j);
  draw(between(map, known, across), false);

  let waiting = 0;
  const work = (row) => {
    const until = performance.now() + SLICE;
    let i = row;
    for (; i < rows && performance.now() < until; i++) for (let j = 0; j < columns; j++) fill(i, j);
    if (i < rows) waiting = setTimeout(work, 0, i);
    else draw(map, true);
  };
  waiting = setTimeout(work, 30, 0);
  return () => clearTimeout(waiting);
}

function every(stride, count) {
  const found = [];
  for (let i = 0; i < count - 1; i += stride) found.push(i);
  return [...found, count - 1];
}

/** All cells, from those that are known. */
function between(map, known, across) {
  const [aboveOf, leftOf] = [places(known), places(across)];
  const logits = map.values.map((row) => row.map((value) => (value === undefined ? NaN : logit(value))));
  const values = aboveOf.map(([top, bottom, down]) =>
    leftOf.map(([left, right, over]) => {
      const high = logits[top][left] * (1 - over) + logits[top][right] * over;
      const low = logits[bottom][left] * (1 - over) + logits[bottom][right] * over;
      const value = 1 / (1 + Math.exp(-(high * (1 - down) + low * down)));
      return Number.isNaN(value) ? map.values[down < 0.5 ? top : bottom][over < 0.5 ? left : right] : value;
    }),
  );
  const bottleneck = aboveOf.map(([top, bottom, down]) =>
    leftOf.map(([left, right, over]) => map.bottleneck[down < 0.5 ? top : bottom][over < 0.5 ? left : right]),
  );
  return { values, bottleneck };
}

/** For each place, the known ones on both sides, and how far it is from the first to the second. */
function places(known) {
  const found = [];
  for (let k = 0; k + 1 < known.length; k++) {
    const [from, to] = [known[k], known[k + 1]];
    for (let i = from; i < to; i++) found.push([from, to, (i - from) / (to - from)]);
  }
  const last = known[known.length - 1];
  return [...found, [last, last, 0]];
}
