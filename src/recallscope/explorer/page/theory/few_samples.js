// Reading a memory of few samples: labels differ by how often they were seen at all.
//
// With N < V most labels have no sample in the memory, a few have one, and fewer have two. Their
// logits are not one Gaussian but a mixture. eq:few-samples counts such classes of rivals one by one.

import { ndtr, ndtri, poisson } from "./special.js";

// Samples of a label; those with the token asked for as a distractor; points of the right label's
// noise. With more samples than facts the formula for many contributes, and a coarser grid suffices.
const FEWER = grid(6, 4, 24);
const MORE = grid(8, 3, 12);
const NEGLIGIBLE = 1e-11; // of a weight, or of a number of rivals
const SURELY_BEATEN = 40;

function grid(seen, met, points) {
  const deviates = Array.from({ length: points }, (_, i) => ndtri((i + 0.5) / points));
  return { seen, met, deviates };
}

/** The probability that the right label has the highest logit, for few samples. See eq:few-samples. */
export function fewSamplesAccuracy(s, readout, stored, noise) {
  const classes = s.perToken < 1 ? FEWER : MORE;
  const rate = s.N / s.V;
  const { bias, bareBias: bare } = readout;
  const rivals = rivalClasses(s, readout, noise, classes, rate);
  // A coordinate is, in its own law, at least nearly as far out as in a normal one.
  const farAbove = s.gaussian || noise.lean > 20 ? 1.05 * -ndtri(NEGLIGIBLE / s.V) : Infinity;
  let found = 0;
  for (let which = 0; which < stored.strength.length; which++) {
    const strength = stored.strength[which];
    // The fact asked for, by how often it was stored.
    const weights = poisson(classes.seen, rate * strength);
    const alike = bare * strength + (1 - bare) * stored.mean;
    const missed = ((1 - strength) / rate) * (bare * bias) ** 2;
    let [read, seen] = [0, 0];
    for (let n = 1; n < classes.seen; n++) {
      seen += weights[n];
      if (weights[n] * Math.abs(stored.share[which]) < NEGLIGIBLE) continue;
      const times = n / rate;
      const signal = times + (times - alike) * bias - stored.lost[which];
      const others = noise.common * Math.max(1 - times / s.V, 0);
      const right =
        others + noise.within * times + noise.spread + missed + readout.tokenVariance * signal ** 2;
      read += weights[n] * winsOver(rivals, s, noise.lean, signal, Math.sqrt(right), others, classes.deviates, farAbove);
    }
    // A fact that was never seen is like its rivals, and right once in V.
    found += (read + (1 - seen) / s.V) * stored.share[which];
  }
  return found;
}

/** How often a logit of some mean and deviation is above all rivals. */
function winsOver({ number, level, own }, s, dim, signal, deviation, others, deviates, farAbove) {
  const across = others * (1 - 1 / s.d) + 1e-300;
  const lean = s.orthogonal ? 0 : 1 / s.d;
  // From a coordinate of the sphere to a normal quantile: eq:sphere-quantile, inverted.
  const freedom = Math.max(dim - 1, 0.5);
  const stretch = (8 * freedom + 1) / (8 * freedom + 3);
  let wins = 0;
  for (let i = 0; i < deviates.length; i++) {
    const logit = signal + deviation * deviates[i];
    const leaning = across + lean * logit * logit;
    let above = 0;
    for (let r = 0; r < number.length; r++) {
      let z = (logit - level[r]) / Math.sqrt(leaning + own[r]);
      if (z > farAbove) continue;
      if (!s.gaussian) {
        const square = -freedom * Math.log1p(-Math.min((z * z) / dim, 1 - 1e-12));
        z = (z < 0 ? -stretch : stretch) * Math.sqrt(square);
      }
      above += ndtr(-z) * number[r];
      if (above > SURELY_BEATEN) break;
    }
    wins += Math.exp(-above);
  }
  return wins / deviates.length;
}

/** Rivals: `seen` samples of a label, `met` of them with the token asked for as a distractor. */
function rivalClasses(s, readout, noise, classes, rate) {
  let meets = readout.spillThird > 0 ? (s.L - 1) / s.V : 0;
  if (meets >= 1) meets = 0; // this many are a part of the noise
  const uneven = readout.bias * Math.sqrt(noise.imbalance * rate);
  const drawn = Math.max(noise.within - (readout.slope ** 2 * meets) / rate, 0);
  const item = (readout.itemVariance * noise.c2) / (1 + 1 / rate);
  const [number, level, own] = [[], [], []];
  const seenBy = poisson(classes.seen, rate);
  for (let seen = 0; seen < classes.seen; seen++) {
    const metBy = meets > 0 ? poisson(classes.met, seen * meets) : [1];
    for (let met = 0; met < metBy.length; met++) {
      const rivals = (s.V - 1) * seenBy[seen] * metBy[met];
      if (rivals < NEGLIGIBLE) continue;
      number.push(rivals);
      level.push(uneven * (seen / rate - 1) + (readout.slope * (met - seen * meets)) / rate);
      own.push(item * (seen / rate) ** 2 + (drawn * seen) / rate);
    }
  }
  return { number: Float64Array.from(number), level: Float64Array.from(level), own: Float64Array.from(own) };
}
