// What a memory recalls at the end of training, where it is too small to store all facts.
//
// Derived in docs/end-of-training.md. The minimum of the loss is described by two numbers. For a
// fact that is left out, scores of labels are independent normal numbers of standard deviation
// `spread`. Learning it moves its scores against the slope of its loss, by `stiffness` times how
// often it was seen. Two equations fix both.

import { edge, fractionThatStore } from "./end_capacity.js";
import { hermite, legendre } from "./quadrature.js";
import { logFactorial, ndtr, ndtri, ndtriExp } from "./special.js";

const LABEL = hermite(32);
const REST = legendre(12);
const LOWEST = -5.5;
const MOST_STEPS = 60;
const MOST_CLASSES = 4;
const EQUALLY = 1e6; // samples for each fact, from which on all are seen equally often
const NEAR = 3; // fitted: an exponent of the fraction of the capacity threshold
const FULL = 0.99; // of the threshold of independent scores: the equations are solved up to it
const FAR = 0.8;
const APART = 0.05;

/** A number of facts, all seen equally often. */
export const equallyOften = (number) => [{ number, times: 1 }];

/** Facts of a batch of independent samples: Poisson numbers, in a few classes of like ones. */
export function factsSeen(vocab, samples) {
  if (samples > EQUALLY * vocab) return equallyOften(vocab);
  const mean = samples / vocab;
  const last = Math.ceil(mean + 5 * Math.sqrt(mean) + 5);
  const share = [];
  let all = 0;
  for (let n = 0; n <= last; n++) {
    share.push(Math.exp(n * Math.log(mean) - mean - logFactorial(n)));
    all += share[n];
  }
  const seen = (all - share[0]) / all;
  const classes = [];
  let below = 0;
  for (let n = 1; n <= last; n++) {
    const here = share[n] / all;
    below += here;
    // Classes of equal numbers of facts; only those of rare facts are small.
    const place =
      last > MOST_CLASSES
        ? Math.min(Math.floor((below / seen) * MOST_CLASSES), MOST_CLASSES - 1)
        : n;
    const known = classes.find((each) => each.place === place);
    if (known) {
      known.number += here;
      known.sum += n * here;
    } else classes.push({ place, number: here, sum: n * here });
  }
  return classes.map(({ number, sum }) => ({ number: vocab * number, times: sum / number }));
}

/** The fraction of facts seen that a memory recalls; `blur` widens the capacity threshold. */
export function memoryRecall(vocab, parameters, facts, dim, blur, tables) {
  const full = edge(vocab, countOf(facts), dim, tables);
  const held = fractionThatStore(full, parameters, blur);
  if (held > 0.99) return held;
  // The threshold is below that of independent scores, which matters near it.
  const fraction = Math.min(parameters / full.parameters, 1);
  const below = parameters + fraction ** NEAR * (full.independent - full.parameters);
  const recalled = unfinished(vocab, Math.min(below / full.independent, FULL), facts, tables.draws);
  return held + (1 - held) * recalled;
}

const countOf = (facts) => facts.reduce((sum, each) => sum + each.number, 0);

/** Recall where the loss has a minimum, at a fraction of the threshold below one. */
function unfinished(vocab, fraction, facts, draws) {
  const rivals = rivalsOf(vocab, draws);
  const seen = countOf(facts);
  // The equations are first solved further away, and then nearer in steps.
  const first = Math.min(fraction, FAR);
  const often = facts.reduce((sum, each) => sum + each.times, 0) / facts.length;
  let point = [first, 2 * first - Math.log(often)];
  const steps = Math.ceil((fraction - first) / APART);
  for (let i = 0; i <= steps; i++) {
    const here = steps ? first + ((fraction - first) * i) / steps : fraction;
    const found = solveTwo((at) => equations(at, here * seen * rivals.pool, facts, rivals), point);
    if (!found) break;
    point = found;
  }
  const [spread, stiffness] = point.map(Math.exp);
  let right = 0;
  for (const { number, times } of facts) {
    const signal = (stiffness / spread) * times;
    LABEL.nodes.forEach((x, i) => {
      right += number * LABEL.weights[i] * ndtr(x + signal) ** (vocab - 1);
    });
  }
  return right / seen;
}

/** Two equations: facts disturb each other by the spread, and together use all parameters. */
function equations(point, parameters, facts, rivals) {
  const [spread, stiffness] = point.map(Math.exp);
  let [noise, used] = [0, 0];
  for (const { number, times } of facts) {
    const pull = stiffness * times;
    const { slope, taken } = slopeAndTaken(rivals, spread, pull);
    noise += number * pull ** 2 * slope;
    used += number * taken;
  }
  return [Math.log(noise / parameters) - 2 * point[0], Math.log(used / parameters)];
}

/** Newton's rule for two equations, with steps that are halved where they do not help. */
function solveTwo(f, start) {
  const size = (values) => Math.hypot(...values);
  let point = start;
  let value = f(point);
  for (let step = 0; step < 40 && size(value) > 1e-10; step++) {
    const h = 1e-6;
    const alongX = f([point[0] + h, point[1]]);
    const alongY = f([point[0], point[1] + h]);
    const [a, c] = alongX.map((each, i) => (each - value[i]) / h);
    const [b, d] = alongY.map((each, i) => (each - value[i]) / h);
    const determinant = a * d - b * c;
    const move = [
      (b * value[1] - d * value[0]) / determinant,
      (c * value[0] - a * value[1]) / determinant,
    ];
    let [scale, next, there] = [Math.min(1, 2 / Math.max(size(move), 1e-300)), null, null];
    for (let half = 0; half < 12; half++, scale /= 2) {
      next = point.map((each, i) => each + scale * move[i]);
      there = f(next);
      if (size(there) < size(value)) break;
    }
    if (!(size(there) < size(value))) return size(value) < 1e-6 ? point : null;
    [point, value] = [next, there];
  }
  return size(value) < 1e-6 ? point : null;
}

const known = new Map();

/** Draws of the scores of a label and of its highest rivals, and nodes for all others. */
function rivalsOf(vocab, draws) {
  if (known.has(vocab)) return known.get(vocab);
  const rows = draws.map((drawn) => {
    const uniform = drawn.map((each) => each / 2 ** 30);
    // The highest of n uniform numbers is distributed as u^(1/n) for a uniform u.
    let log = 0;
    const top = uniform.slice(1).map((each, i) => {
      log += Math.log(each) / (vocab - 1 - i);
      return ndtriExp(log);
    });
    const half = (top[top.length - 1] - LOWEST) / 2;
    const rest = REST.nodes.map((x) => LOWEST + half * (x + 1));
    const weight = rest.map((x, i) => REST.weights[i] * Math.exp((-x * x) / 2));
    const sum = weight.reduce((all, each) => all + each, 0);
    const scale = (vocab - 1 - top.length) / sum;
    // Each score with the number of labels that have it; the label itself is first.
    return {
      score: [ndtri(uniform[0]), ...top, ...rest],
      number: [1, ...top.map(() => 1), ...weight.map((each) => each * scale)],
      top: top[0],
    };
  });
  const found = { rows, pool: meanPool(rows) };
  known.set(vocab, found);
  return found;
}

/** The mean squared distance of these draws from the cone. */
function meanPool(rows) {
  let sum = 0;
  for (const { score, number, top } of rows) {
    const own = score[0];
    let [low, high, level] = [own, Math.max(own, top), 0];
    for (let step = 0; step < 40; step++) {
      level = (low + high) / 2;
      let raised = own;
      for (let i = 1; i < score.length; i++) raised += number[i] * Math.max(score[i] - level, 0);
      if (raised > level) low = level;
      else high = level;
    }
    sum += (level - own) ** 2;
    for (let i = 1; i < score.length; i++) sum += number[i] * Math.max(score[i] - level, 0) ** 2;
  }
  return sum / rows.length;
}

/**
 * The mean square of a fact's slope over all labels, and the parameters that it takes.
 *
 * Scores are those without the fact plus what it adds: z = z₀ + pull (1[label] − p), p their
 * softmax. At a given log-partition each p is found separately, pull·p being Wright's ω. Newton's
 * rule finds the partition at which all p add up to one.
 */
function slopeAndTaken({ rows }, spread, pull) {
  const logPull = Math.log(pull);
  let [slopes, takens] = [0, 0];
  for (const { score, number } of rows) {
    const z = score.map((each, i) => spread * each + (i === 0 ? pull : 0));
    const peak = Math.max(z[0], z[1]);
    let partition = 0;
    for (let i = 0; i < z.length; i++) partition += number[i] * Math.exp(z[i] - peak);
    partition = peak + Math.log(partition);
    let [low, high] = [partition - pull, partition];
    let [ownP, sum, soft, squares, softSquares] = [0, 0, 0, 0, 0];
    for (let step = 0; step < MOST_STEPS; step++) {
      [sum, soft, squares, softSquares] = [0, 0, 0, 0];
      for (let i = 0; i < z.length; i++) {
        const p = wrightOmega(z[i] + logPull - partition) / pull;
        const s = p / (1 + pull * p);
        if (i === 0) ownP = p;
        sum += number[i] * p;
        soft += number[i] * s;
        squares += number[i] * p * p;
        softSquares += number[i] * s * s;
      }
      if (sum > 1) low = partition;
      else high = partition;
      let move = (Math.log(sum) * sum) / soft;
      // Newton's rule may go back and forth: a step beyond what is known is halved.
      if (partition + move < low || partition + move > high) move = (low + high) / 2 - partition;
      partition += move;
      if (Math.abs(move) < 1e-9) break;
    }
    slopes += squares + 1 - 2 * ownP;
    // tr (I − ∂z/∂z₀), as diag(1 + pull·p) − pull·p pᵀ is inverted by hand.
    takens += pull * (soft - softSquares / soft);
  }
  return { slope: slopes / rows.length, taken: takens / rows.length };
}

/** ω with ω + log ω = z. */
function wrightOmega(z) {
  if (z < -30) return Math.exp(z);
  let w = z > 1 ? z - Math.log(z) : z > -2 ? 0.567 * Math.exp(z / 1.7) : Math.exp(z);
  for (let step = 0; step < 20; step++) {
    const error = z - w - Math.log(w);
    // Halley's rule.
    const wave = 1 + w;
    const move = (w * error) / (wave - (0.5 * error) / wave);
    w = Math.max(w + move, w / 10);
    if (Math.abs(move) < 1e-14 * w) break;
  }
  return w;
}
