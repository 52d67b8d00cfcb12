// The noise met when a memory is read: of the first gradient or of the third (recall).
//
// Variances of a wrong label's logit, in units of the squared signal of a fact seen as often as the
// average. Noise reaches a label through its own stored item and through the overlap of its output
// with all others, V/d times as much: hence the factor 1 + V/d.

import { features, markedConstants, unitConstants } from "./hermite.js";

/** Superposition: V associations share d² numbers. eq:interference. */
export const interference = (V, N, d, gain = 1) => (gain * (1 + V / N) * (1 + V / d)) / d;

/** The same through the curved part of a kernel. eq:kernel-interference. */
const kernelInterference = (V, N, d, variance) => variance * (1 + V / N) * (1 + V / d);

/** Distractors that happened to occur with a label; in the first gradient only. eq:first-noise. */
export const gradientNoise = (V, N, d, L, gain = 1) => (gain * (L - 1) * (1 + V / d) ** 2) / N;

/** What all reads share, times the label imbalance. eq:read-bias. */
const meanBias = (V, N, d, ratio) => (ratio ** 2 * (1 + V / d) * V) / N;

/** A batch shows the facts unevenly; this moves the right label. eq:sampling. */
export const sampling = (V, N, ratio = 0) => ((1 + ratio) ** 2 * V) / N;

/** A kernel of m random units is not its expectation. eq:read-mlp. */
const mlpNoise = (V, N, d, m, variance) => (variance * (1 + V / N) * (1 + V / d)) / m;

/** The sum of all terms of a stage. */
export function total(terms) {
  let sum = 0;
  for (const name in terms) sum += terms[name];
  return sum;
}

/** The third step's memory, if every sample was read at its trigger. */
export function recallReadout(s) {
  const items = s.marked ? markedItems(s) : plainItems(s);
  const { V, N, space: d } = s;
  return {
    terms: {
      interference: interference(V, N, d, items.linear * s.d),
      kernel_interference: kernelInterference(V, N, d, items.curved),
      mlp_noise: mlpNoise(V, N, d, s.m, items.mlp),
      mean_bias: meanBias(V, N, d, items.bias),
    },
    itemVariance: (s.orthogonal ? 0 : items.linear + items.curved) + items.mlp / s.m,
    bias: items.bias,
    bareBias: items.bareBias,
    slope: Math.sqrt(items.linear * s.d),
    tokenVariance: items.token,
    third: items.third,
    fourth: items.fourth,
    spillThird: 0,
    spillFourth: 0,
  };
}

/** What two tokens of length 1 do to each other through the features. eq:token-kernel. */
function plainItems(s) {
  const c = unitConstants(s.activation);
  const a = c.coefficients;
  const a0 = a[0];
  const a1 = a[1];
  const a2 = a[2];
  const a3 = a[3];
  const a4 = a[4];
  const overlap2 = 1 / s.space;
  const overlap4 = (3 * overlap2) / (s.space + 2);
  const mean = a0 ** 2 + a2 ** 2 * overlap2 + a4 ** 2 * overlap4;
  const signal = c.square - mean;
  // a_3² ρ³ goes along with a_1² ρ, as ρ⁴ has a mean; a_2² ρ² bends the kernel.
  const linear = (a1 ** 4 + (6 * (a1 * a3) ** 2) / (s.d + 2)) / s.d;
  const curved = a2 ** 4 * (overlap4 - overlap2 ** 2);
  const lengths = s.gaussian ? (a0 ** 2 * a2 ** 2) / s.d : 0;
  const mlp = c.square * (c.square - a0 ** 2);
  const variance = (s.orthogonal ? 0 : linear + curved + lengths) + mlp / s.m;
  const share = variance > 0 ? mlp / s.m / variance : 0;
  // A token with long features has more signal, and proportionally more noise.
  let token =
    (c.signalVariance / signal ** 2 -
      (share * c.signalWithNorm) / (signal * c.square) +
      (share ** 2 * c.normVariance) / (4 * c.square ** 2)) /
    s.m;
  if (s.gaussian) {
    // So has a long token: log-derivative of signal and of noise by its squared length.
    const signalSlope = (c.squareSlope - c.logSlopes[0] * a0 ** 2) / signal;
    const [byLength, byLinear, byCurved] = c.logSlopes;
    const noiseSlope =
      variance > 0
        ? (byLinear * linear + byCurved * curved + byLength * lengths +
            (((0.5 * mlp) / s.m) * c.squareSlope) / c.square) / variance
        : 0;
    token += (2 / s.d) * (1 + (signalSlope - noiseSlope) ** 2);
  }
  return {
    linear: linear / signal ** 2,
    curved: (curved + lengths) / signal ** 2,
    mlp: mlp / signal ** 2,
    bias: mean / signal,
    bareBias: 1,
    token,
    third: c.third / s.m ** 2 / signal ** 3,
    fourth: c.fourth / s.m ** 3 / signal ** 4,
  };
}

/** The same for tokens that carry the trigger. eq:marked-kernel. */
function markedItems(s) {
  const c = markedConstants(s.activation);
  const signal = c.square - c.mean;
  const byTrigger = c.overlapSlope + 2 * c.lengthSlope;
  const linear = (c.overlapSlope ** 2 + byTrigger ** 2) / s.d;
  let curved = (2 * c.overlapCurvature ** 2) / s.d ** 2;
  if (s.gaussian) curved += (2 * c.lengthSlope ** 2) / s.d;
  return {
    linear: linear / signal ** 2,
    curved: curved / signal ** 2,
    mlp: c.mlpVariance / signal ** 2,
    bias: c.mean / signal,
    bareBias: c.bareMean / c.mean,
    token: c.signalVariance / s.m / signal ** 2 + (s.gaussian ? 2.5 / s.d : 0),
    third: 0,
    fourth: 0,
  };
}

/** The mean of a sequence's values, which uniform attention reads. eq:sequence-mean. */
export function means(s) {
  const mark = s.marked ? 1 / s.L : 0;
  // V tokens have a mean of squared length 1/V, which no sequence escapes.
  const square = (1 + (s.L - 1) / s.V + mark) / s.L;
  const shared = (s.L - 1) / (s.L * s.V) + mark / s.L;
  return { square, shared, moments: features(s.activation, Math.sqrt(square)) };
}

/** The first gradient, asked for a bare token. eq:first-signal to eq:first-bias. */
export function firstGradientReadout(s, h) {
  const c = unitConstants(s.activation);
  const asked = c.coefficients;
  const stored = h.moments.coefficients;
  const { V, N, L, m, space: d } = s;
  const others = L - 1;
  const radius = Math.sqrt(h.square);
  // The overlap of the token with a mean, over the lengths: shifted by 1/(L r) if it is in it.
  const shift = 1 / (L * radius);
  const variance = others / (L ** 2 * d * h.square);
  const elsewhere = variance + shift ** 2 / d;
  const product = (j) => asked[j] * stored[j];
  const mean = product(0) + product(2) * elsewhere + 3 * product(4) * elsewhere ** 2;
  const gains = shifts(shift, variance, d);
  let signal = 0;
  for (let j = 0; j < gains.length; j++) signal += product(j + 1) * gains[j];
  // In one dimension an even kernel has none at all; what is divided by it is to stay finite.
  signal = Math.max(signal, 1e-12 * Math.abs(mean));
  const slope = product(1) / radius;
  const curve = (2 * product(2)) / h.square;
  const lengthSlope = (asked[0] * stored[2]) / (Math.SQRT2 * h.square);

  const linear = (slope / (L * signal)) ** 2;
  let curved = ((curve / (2 * L ** 2)) ** 2 * 2) / d ** 2;
  if (s.gaussian) curved += ((lengthSlope / L ** 2) ** 2 * 2) / d;
  // Of the features' variance, one part is due to which token was marked, and one is shared by all
  // sequences; the rest is due to distractors.
  const markedSquare = 1 / (L ** 2 * h.square);
  const base = h.shared / h.square;
  let between = 0;
  let shared = 0;
  for (let j = 1; j < 7; j++) {
    between += stored[j] ** 2 * markedSquare ** j;
    shared += stored[j] ** 2 * base ** j;
  }
  const within = Math.max(h.moments.square - stored[0] ** 2 - shared - between, 0);
  const bentNoise =
    0.5 * ((curve * others) / (L ** 2 * d)) ** 2 +
    lengthSlope ** 2 * (s.gaussian ? 2 / (L ** 2 * d) : (2 * others) / (L ** 3 * d));
  // The mean of V tokens overlaps each by 1/V on average, and by 1/√(V d) more or less.
  const bias = mean / signal + (Math.sqrt(linear) * others) / V;
  let loose = linear * (((others / V) ** 2 * V) / d + (s.marked ? 1 / d : 0));
  const drawn = c.square * shared + (c.square - asked[0] ** 2) * stored[0] ** 2;
  loose += Math.max(drawn, 0) / m / signal ** 2;
  let token = -(signal ** 2);
  for (let i = 1; i < 4; i++) {
    for (let j = 1; j < 4; j++) {
      token +=
        stored[i] * markedSquare ** (i / 2) * c.weighted[i - 1][j - 1] *
        stored[j] * markedSquare ** (j / 2);
    }
  }
  const spread = 1 + V / d;
  return {
    terms: {
      interference: interference(V, N, d, linear),
      kernel_interference: kernelInterference(V, N, d, curved / signal ** 2),
      gradient_noise:
        gradientNoise(V, N, d, L, linear) + (((spread * bentNoise) / signal ** 2) * V) / N,
      mlp_noise:
        mlpNoise(V, N, d, m, (c.square * between) / signal ** 2) +
        (((spread * c.square * within) / m / signal ** 2) * V) / N,
      mean_bias: meanBias(V, N, d, Math.sqrt(bias ** 2 + loose)),
    },
    itemVariance: linear / d + (curved + (c.square * between) / m) / signal ** 2,
    bias,
    bareBias: 1,
    slope: Math.sqrt(linear),
    tokenVariance: Math.max(token, 0) / m / signal ** 2 + (s.gaussian ? 2.5 / s.d : 0),
    third: 0,
    fourth: 0,
    spillThird: (linear ** 1.5 * others * V) / N ** 2,
    spillFourth: (linear ** 2 * others * V ** 2) / N ** 3,
  };
}

/** What E x^j gains, j = 1 … 6, if x ~ N(0, v) is shifted by a, over a²/d more variance. */
function shifts(a, v, dim) {
  const e = a ** 2 / dim;
  return [
    a,
    a ** 2 - e,
    a ** 3 + 3 * a * v,
    a ** 4 + 6 * a ** 2 * v - 6 * v * e - 3 * e ** 2,
    a ** 5 + 10 * a ** 3 * v + 15 * a * v ** 2,
    a ** 6 + 15 * a ** 4 * v + 45 * a ** 2 * v ** 2 - 15 * (3 * v ** 2 * e + 3 * v * e ** 2 + e ** 3),
  ];
}

/** How much of the facts is stored, if attention always finds the trigger: all of it. */
export const IN_FULL = {
  strength: [1], // of the fact asked for
  share: [1], // of tests that find the trigger of such a fact
  lost: [0], // of its signal, to what missed the trigger
  mean: 1,
  square: 1,
  cube: 1,
  fourth: 1,
  variance: 0,
};
