// From signal and noise to a probability: attention, recall and first-gradient accuracy.
//
// All three use eq:threshold: a right answer beats the highest of many wrong ones with scores u·g
// for random directions u.

import { fewSamplesAccuracy } from "./few_samples.js";
import { attentionScores, crossTalk, scoreVariance } from "./attention_scores.js";
import { orthogonalAccuracy } from "./orthogonal.js";
import { hermite, legendre } from "./quadrature.js";
import { IN_FULL, means, firstGradientReadout, recallReadout, total } from "./readout.js";
import { density, ndtr, ndtri, poisson } from "./special.js";

const TRIGGER = hermite(7);
const COUNT = hermite(8);
const LEVELS = legendre(3).nodes.map((x) => (x + 1) / 2);
const LEVEL_WEIGHTS = legendre(3).weights.map((w) => w / 2);
const LOG_LEVELS = LEVELS.map(Math.log);
const FEW_PAIRS = 6; // of samples of one label: fewer are counted one by one
const NO_LONGER_FEW = 2; // samples for each fact; from one on, formulas of few and of many are joined
const NEGLIGIBLE = 1e-13; // of a weight
const CERTAIN = 1e-3; // attention this nearly never or always right need not be called partial

/**
 * Everything the theory says of a problem; or of one accuracy alone, which takes less: then what
 * belongs to the others is NaN or null.
 */
export function analyse(s, accuracy = null) {
  const h = means(s);
  const scores = attentionScores(s, h);
  const recall = recallReadout(s);
  const contest = contestOf(s, scores);
  const attention = attentionAccuracy(s, contest);
  const found = {
    attention_accuracy: attention,
    recall_accuracy: NaN,
    first_gradient_accuracy: NaN,
    recallIfAttended: NaN, // if attention always found the trigger
    attention: scores,
    recall,
    firstGradient: null,
  };
  if (accuracy !== "attention_accuracy" && accuracy !== "first_gradient_accuracy") {
    found.recallIfAttended = readAccuracy(s, recall, IN_FULL, true);
    let right = found.recallIfAttended; // of what finds the trigger
    if (attention > CERTAIN && attention < 1 - CERTAIN && !counted(s)) {
      right = partlyRead(s, recall, contest) / attention;
    }
    // What misses the trigger is a guess, and so is right one time in V.
    found.recall_accuracy = attention * right + ((1 - attention) * (1 - right)) / (s.V - 1);
  }
  if (accuracy === null || accuracy === "first_gradient_accuracy") {
    found.firstGradient = firstGradientReadout(s, h);
    found.first_gradient_accuracy = readAccuracy(s, found.firstGradient, IN_FULL, false);
  }
  return found;
}

const known = new Map();

/** Quantiles of the highest of `count` normal numbers, at the nodes of an average over it. */
export function highestOf(count) {
  const many = Math.max(count, 1);
  let found = known.get(many);
  if (!found) {
    found = LOG_LEVELS.map((level) => -ndtri(-Math.expm1(level / many)));
    if (known.size > 1000) known.clear();
    known.set(many, found);
  }
  return found;
}

/** The quantile of √d times a coordinate of the unit sphere, from that of a normal. See eq:sphere-quantile. */
function onSphere(normal, dim) {
  const freedom = Math.max(dim - 1, 0.5);
  const stretched = (normal * (8 * freedom + 3)) / (8 * freedom + 1);
  return Math.sign(normal) * Math.sqrt(dim * -Math.expm1(-(stretched ** 2) / freedom));
}

/** What skewness and kurtosis add to a normal quantile. eq:tail-shift. */
function tailShift(normal, skewness, kurtosis) {
  const skew = Math.min(Math.max(skewness, 1e-6), 10);
  const cube = 1 + (skew * normal) / 6 - skew ** 2 / 36;
  const gamma = (2 / skew) * (cube * cube * cube - 1);
  const excess = Math.min(Math.max(kurtosis - 1.5 * skew ** 2, -1), 1); // where first order is of use
  return gamma - normal + (excess * normal * (normal * normal - 3)) / 24;
}

/** Of L − 1 distractors some are the same token; only different ones compete. */
const differentRivals = (s) => -s.V * Math.expm1((s.L - 1) * Math.log1p(-1 / s.V));

/**
 * The marked token against its highest rival, by the trigger's score and the rival's level: three
 * numbers for each score, one after the other.
 */
function contestOf(s, scores) {
  const noise = total(scores.terms);
  const normal = highestOf(differentRivals(s));
  const { score, weight } = triggerScores(s, scores);
  const won = new Float64Array(3 * score.length);
  const highest = new Float64Array(3 * score.length);
  const sphere = [0, 1, 2].map((k) => (s.gaussian ? normal[k] : onSphere(normal[k], s.d)));
  for (let i = 0; i < score.length; i++) {
    const trigger = score[i];
    const variance = s.L === 1 ? 1 : noise + crossTalk(trigger, s.space);
    const some = Math.max(variance, 1e-140);
    const skewness = scores.third / (some * Math.sqrt(some));
    const kurtosis = scores.fourth / some ** 2;
    const standard = trigger / Math.sqrt(variance);
    for (let k = 0; k < 3; k++) {
      const rival = sphere[k] + tailShift(normal[k], skewness, kurtosis);
      const spread = 1 + ((rival * noise) / variance) ** 2 / (2 * s.d);
      highest[3 * i + k] = rival;
      won[3 * i + k] = ndtr((standard - rival) / Math.sqrt(spread));
    }
  }
  return { won, highest, weight };
}

/** What the trigger adds to a score over instances, with weights. */
function triggerScores(s, scores) {
  const { nodes, weights } = TRIGGER;
  if (scores.pairs >= FEW_PAIRS) {
    // as good as Gaussian
    const deviation = Math.sqrt(scoreVariance(scores));
    const byPairs = scores.pairScore * Math.sqrt(scores.pairs);
    const share = deviation > 0 ? byPairs / deviation : 0;
    const skewness = (share ** 3 * (1 + 2 * s.perToken)) / Math.sqrt(scores.pairs);
    const score = new Float64Array(nodes.length);
    for (let i = 0; i < nodes.length; i++) {
      const node = nodes[i] + (Math.min(skewness, 1) * (nodes[i] ** 2 - 1)) / 6;
      score[i] = scores.signal + deviation * node;
    }
    return { score, weight: weights };
  }
  const likely = poisson(Math.ceil(FEW_PAIRS + 5 * Math.sqrt(FEW_PAIRS)), scores.pairs);
  const deviation = Math.sqrt(scores.triggerVariance);
  const score = [];
  const weight = [];
  for (let number = 0; number < likely.length; number++) {
    if (likely[number] < NEGLIGIBLE) continue;
    // N samples have N²/2V pairs less those of a sample with itself, which have no signal.
    const middle = scores.signal + scores.pairScore * (number - s.N ** 2 / (2 * s.V));
    for (let i = 0; i < nodes.length; i++) {
      score.push(middle + deviation * nodes[i]);
      weight.push(likely[number] * weights[i]);
    }
  }
  return { score, weight };
}

/** The probability that the marked position has the highest attention score. eq:attention. */
function attentionAccuracy(s, { won, weight }) {
  if (s.L === 1) return 1; // no noise
  let found = 0;
  for (let i = 0; i < weight.length; i++) {
    for (let k = 0; k < 3; k++) found += won[3 * i + k] * LEVEL_WEIGHTS[k] * weight[i];
  }
  return Math.min(found, 1);
}

// A token that beats rivals up to a level is found as often as rivals are no higher.
const STRENGTHS = LEVEL_WEIGHTS.map((_, i) =>
  Math.min(LEVEL_WEIGHTS.slice(0, i + 1).reduce((sum, w) => sum + w, 0), 1),
);

/** The probability that the trigger is found and its fact read. eq:partial-strength to eq:partial-recall. */
function partlyRead(s, readout, { won, highest, weight }) {
  // Samples that miss the trigger read the highest token present, the same few again and again.
  const present = differentRivals(s) / s.V;
  const alike = s.marked ? 0 : present / (2 - present);
  const lean = s.marked ? 0 : readout.slope / s.space;
  const stored = { strength: STRENGTHS, share: [0, 0, 0], lost: [0, 0, 0], mean: 0, square: 0, cube: 0, fourth: 0, variance: 0 };
  let found = 0;
  for (let i = 0; i < weight.length; i++) {
    let mean = 0;
    let square = 0;
    let cube = 0;
    let fourth = 0;
    let beaten = 0;
    for (let k = 0; k < 3; k++) {
      const here = won[3 * i + k];
      // What beats this level and not the next.
      const tokens = k < 2 ? here - won[3 * i + k + 1] : here;
      const strength = STRENGTHS[k];
      const squared = strength * strength;
      mean += tokens * strength;
      square += tokens * squared;
      cube += tokens * strength * squared;
      fourth += tokens * squared * squared;
      beaten += LEVEL_WEIGHTS[k] * (1 - here) * highest[3 * i + k];
      stored.share[k] += weight[i] * tokens;
    }
    const variance = square - mean ** 2;
    const often = mean * weight[i];
    found += often;
    stored.mean += mean * often;
    stored.square += (square + alike * variance) * often;
    stored.cube += cube * often;
    stored.fourth += fourth * often;
    stored.variance += variance * often;
    if (lean === 0 || weight[i] < NEGLIGIBLE) continue;
    // Those tokens lie along the attention vector, and so do the ones found.
    const rival = beaten / Math.max(1 - mean, 1e-12);
    let above = density(ndtri(won[3 * i]));
    for (let k = 0; k < 3; k++) {
      const next = k < 2 ? density(ndtri(won[3 * i + k + 1])) : 0;
      stored.lost[k] += weight[i] * rival * (above - next) * (STRENGTHS[k] - mean);
      above = next;
    }
  }
  for (const name of ["mean", "square", "cube", "fourth", "variance"]) stored[name] /= found;
  for (let k = 0; k < 3; k++) {
    stored.lost[k] *= lean / Math.max(stored.share[k], 1e-12);
    stored.share[k] *= STRENGTHS[k];
  }
  return readAccuracy(s, readout, stored, true);
}

/** Where whole counts compete, and no noise. */
const counted = (s) => s.orthogonal && s.m === Infinity;

/** The probability that the right label has the highest logit. eq:threshold and eq:read. */
function readAccuracy(s, readout, stored, thirdStep) {
  if (counted(s)) return orthogonalAccuracy(s, thirdStep);
  const noise = readNoise(s, readout, stored);
  let many = 0;
  if (s.perToken >= 1) {
    many = manySamplesAccuracy(s, readout, stored, noise);
    if (s.perToken >= NO_LONGER_FEW) return many;
  }
  // Between the two regimes their results are interpolated, so no curve has a step.
  const fraction = Math.min(Math.max(Math.log(s.perToken) / Math.log(NO_LONGER_FEW), 0), 1);
  return (1 - fraction) * fewSamplesAccuracy(s, readout, stored, noise) + fraction * many;
}

/** The noise of one read: the part common to all labels, and the part of each label. */
function readNoise(s, readout, stored) {
  const { V, d } = s;
  const few = 1 / s.perToken;
  const { bias, bareBias: bare } = readout;
  const { mean, square, cube, fourth, variance } = stored;
  // E c² and E c⁴ of what labels have in the memory. A sample that misses the trigger is in it too,
  // under another token, and so does not thin what is due to chance.
  const c2 = square + few;
  const c4 = fourth + 6 * cube * few + 7 * square * few ** 2 + few ** 3;
  // What all reads share is stored by all samples of a label, those that missed the trigger included,
  // unless it is the trigger.
  const imbalance = (1 - bare) ** 2 * variance + (mean + bare ** 2 * (1 - mean)) * few;
  const shared = readout.terms.mean_bias;
  const items = total(readout.terms) - shared;
  const wrong = items * (c2 / (1 + few)) + shared * (imbalance / few);
  const crowding = V / s.space;
  // What reaches a label through all others' outputs, and what through its own stored item.
  const common = (wrong * crowding) / (1 + crowding);
  const own = wrong / (1 + crowding);
  const across = Math.max(common * (1 - 1 / d) + own, 1e-100);
  const cumulants = ownCumulants(readout, stored, few);
  // A label's own item is part of what it is compared with: the logits of V labels in d dimensions
  // lean on each other as if there were fewer dimensions. eq:logit-correlation.
  const lean = 1 / (1 / d + (s.orthogonal ? 1 / V : (2 + c4 / c2 ** 2) / (V + d)));
  const normal = highestOf(V - 1);
  const highest = [0, 0, 0];
  const skewness = cumulants.third / (across * Math.sqrt(across));
  const kurtosis = cumulants.fourth / across ** 2;
  let typical = 0;
  for (let k = 0; k < 3; k++) {
    const sphere = s.gaussian ? normal[k] : onSphere(normal[k], lean);
    highest[k] = sphere + tailShift(normal[k], skewness, kurtosis);
    const limit = Math.min(s.orthogonal ? 0 : highest[k] ** 2 / d, 0.95);
    typical += highest[k] / Math.sqrt(1 - limit) / 3;
  }
  return {
    c2,
    imbalance,
    common,
    own,
    within: Math.max(own - (readout.itemVariance * c2 + bias ** 2 * imbalance), 0),
    lean,
    across,
    spread: (typical * common) ** 2 / across / (2 * lean),
    highest,
  };
}

function manySamplesAccuracy(s, readout, stored, noise) {
  const few = 1 / s.perToken;
  const { bias, bareBias: bare, tokenVariance } = readout;
  const thresholds = [0, 0, 0];
  for (let k = 0; k < 3; k++) {
    // In very few dimensions some wrong label always points the same way, and the right one loses.
    const limit = s.orthogonal ? 0 : noise.highest[k] ** 2 / s.d;
    thresholds[k] = noise.highest[k] * Math.sqrt(noise.across / Math.max(1 - limit, 1e-9));
  }
  let found = 0;
  for (let which = 0; which < stored.strength.length; which++) {
    const strength = stored.strength[which];
    const { count, weight } = howOften(s.perToken * strength, s.perToken);
    const missed = (1 - strength) * few * (bare * bias) ** 2;
    const alike = bare * strength + (1 - bare) * stored.mean;
    let sum = 0;
    for (let i = 0; i < weight.length; i++) {
      if (weight[i] < NEGLIGIBLE) continue;
      const times = count[i] * strength;
      let read = 1 / s.V; // a fact that was never seen is like its rivals
      if (times > 0) {
        const signal = times + (times - alike) * bias - stored.lost[which];
        const right =
          noise.common + noise.within * Math.min(times, 1) + missed + tokenVariance * signal ** 2;
        const scale = 1 / Math.sqrt(right + noise.spread + 1e-300);
        read = 0;
        for (let k = 0; k < 3; k++) {
          read += LEVEL_WEIGHTS[k] * ndtr(signal * scale - scale * thresholds[k]);
        }
      }
      sum += read * weight[i];
    }
    found += sum * stored.share[which];
  }
  return Math.min(found, 1);
}

// Few samples for each fact are counted one by one, up to as many as matter below these rates.
const BINS = [1.5, 3.5, 8].map((rate) => ({ rate, counts: Math.ceil(rate + 5 * Math.sqrt(rate) + 4) }));

/** How often a fact was seen, over the mean, with weights: Poisson, or its Gaussian limit. */
function howOften(rate, perToken) {
  const bin = BINS.find((each) => perToken < each.rate);
  if (bin) {
    const weight = poisson(bin.counts, rate);
    const count = new Float64Array(bin.counts);
    for (let n = 0; n < count.length; n++) count[n] = n / rate;
    return { count, weight };
  }
  const root = 1 / Math.sqrt(rate);
  const { nodes, weights } = COUNT;
  const count = new Float64Array(nodes.length);
  for (let i = 0; i < count.length; i++) {
    count[i] = Math.max(1 + (nodes[i] + ((nodes[i] ** 2 - 1) * root) / 6) * root, 0);
  }
  return { count, weight: weights };
}

/** Third and fourth cumulant of a label's own stored item: its count times its kernel. */
function ownCumulants(readout, stored, few) {
  const { itemVariance: item, bias, third, fourth } = readout;
  const { square: m2, cube: m3, fourth: m4 } = stored;
  // Moments of the count c: E c^j, and E (c - 1)^i c^j of a part that all reads share.
  const c2 = m2 + few;
  const c3 = m3 + 3 * m2 * few + few ** 2;
  const c4 = m4 + 6 * m3 * few + 7 * m2 * few ** 2 + few ** 3;
  const ownThird =
    bias ** 3 * few ** 2 + 3 * bias * (2 * m2 * few + few ** 2) * item + c3 * third;
  const ownFourth =
    bias ** 4 * (3 * few ** 2 + few ** 3) +
    6 * bias ** 2 * (m2 * few + 5 * few ** 2 + few ** 3) * item +
    4 * bias * (3 * m3 * few + 6 * m2 * few ** 2 + few ** 3) * third +
    c4 * (fourth + 3 * item ** 2) -
    3 * (bias ** 2 * few + item * c2) ** 2;
  return { third: ownThird + readout.spillThird, fourth: ownFourth + readout.spillFourth };
}
