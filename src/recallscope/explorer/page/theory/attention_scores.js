// The second step: what attention adds to the trigger's score, and the noise on all scores.
//
// Scores are in units of the signal that an ideal first step would give the trigger, 1/(V L²). Each
// noise has two variances: of the score over the tokens, and of the trigger's score over instances.

/** Moments of the spectrum of the tokens' overlaps, tr K^j / V, by Marchenko and Pastur. See eq:overlap-moments. */
function crowd(V, d) {
  const c = V / d;
  return { second: 1 + c, third: 1 + 3 * c + c ** 2, fourth: 1 + 6 * c + 6 * c ** 2 + c ** 3 };
}

/** The signal a trigger in the values adds: each sample remembers its own. eq:memorisation. */
const memorisation = (V, N, d, L, gain) => (gain * (1 - 1 / L) * V) / N * (1 + (L - 1) / d);

/** A token overlaps the trigger by 1/√d and takes that fraction of its score. eq:cross-talk. */
export const crossTalk = (signal, d) => signal ** 2 / d;

/** How many of L overlaps with the mean of a sequence fluctuate; all, if lengths do too. */
const fluctuating = (L, lengths) => (lengths ? L : Math.max(L - 2, 0));

/** The mean token, which every sample pulls attention towards. eq:score-bias. */
function meanBias(V, N, d, L, gain, lengths) {
  const c = V / d;
  const pull = ((gain * (L - 1) * fluctuating(L, lengths)) / (N * V)) ** 2;
  // The variance of (K² - K) 1 over the tokens, and its square along a random direction.
  return { tokens: pull * (c + 3 * c ** 2 + c ** 3), trigger: pull * c ** 2 * (1 + c) };
}

/** What labels and distractors that met by chance do to the scores. eq:score-labels to eq:score-marked. */
function gradientNoise(V, N, d, L, gains, stretch, lengths) {
  const overlaps = crowd(V, d);
  const c = V / d;
  const keep = 1 - 1 / L;
  const others = L - 1;
  const drift = stretch * gains.drift ** 2;
  const direct = stretch * gains.direct ** 2;
  const own = stretch * gains.own ** 2;
  const imbalance =
    ((drift * others ** 2 * (1 + c)) / (N * V ** 2)) * ((1 + V / N) / V + others / N);
  let sample = (((direct * keep * others * (c + 2)) / d) * (1 + c)) / (N * V);
  sample += (drift * others ** 3 * (1 + c) ** 3) / (N * V) ** 2;
  // Two samples with a common token are both pulled towards it, whatever their labels.
  sample += ((direct + gains.scatter) * L * others * (1 + c) ** 2 * (2 + c)) / (N ** 2 * V);
  // A sample is pulled towards those of its tokens that overlap the others most, or are repeated.
  const apart = (others * fluctuating(L, lengths) * V) / N ** 3;
  sample += (own * apart * (2 + c) * (1 + c)) / V;
  const drifting = (own * apart * others) / V ** 2;
  // A token longer than others is so in every sample.
  if (lengths) sample += ((own * (others / N) ** 2 * 2) / d) * (1 + c);
  // And with the marked token, if two samples share it.
  sample += (keep ** 2 * direct * (2 + (4 * N) / V) * (1 + c)) / N ** 2;
  // Two samples' tokens overlap: a marked one with a distractor, or two distractors.
  let met = (others * (1 - 2 / L) ** 2 * (1 + V / N)) / N + (2 * keep ** 2 * V) / N ** 2;
  met = direct * met * (V / d ** 2 + 2 / d) + (direct * ((keep * others) / d) ** 2) / N;
  met += keep ** 2 * gains.scatter * L * (V / (N * d)) ** 2;
  return {
    tokens: (imbalance + drifting) * overlaps.fourth + sample,
    trigger:
      (imbalance + drifting) * overlaps.third * c +
      (sample * c) / (1 + c) +
      met +
      ((own * apart * V) / L) * (1 / d + 1 / V),
  };
}

/** What m random units add by not being infinitely many. eq:score-mlp. */
function mlpNoise(V, N, d, L, m, pull, scatter) {
  const overlaps = crowd(V, d);
  const c = V / d;
  const keep = 1 - 1 / L;
  const others = L - 1;
  const drawn = ((keep * others * L * pull) / N) ** 2 / m;
  const single = (scatter * L * Math.min(d, V)) / m;
  const sample = (single * keep * others ** 2 * (1 + c) ** 3) / (N ** 2 * V);
  return {
    tokens: drawn * overlaps.third + sample,
    trigger:
      drawn * c * overlaps.second +
      (sample * c) / (1 + c) +
      keep ** 2 * single * L * (V / (N * d)) ** 2,
  };
}

/** How an MLP bends the terms of attention alone, for which all are 1 or 0. eq:gains. */
function gainsOf(s, h) {
  const a = h.moments.coefficients;
  const root = Math.sqrt(h.square);
  const base = h.shared / h.square;
  const together = (h.shared + 1 / s.L ** 2) / h.square;
  // Series over the kernel's derivatives: by the other token, by its own length, by one unit.
  let direct = 0;
  let own = 0;
  let unit = 0;
  let signal = 0;
  let ownTogether = 0;
  let unitTogether = 0;
  for (let j = a.length - 3; j >= 0; j--) {
    const byOther = ((j + 1) * a[j + 1] ** 2) / h.square;
    const byOwn = (Math.sqrt((j + 1) * (j + 2)) * a[j + 2] * a[j]) / h.square;
    const byUnit = (Math.sqrt(j + 1) * a[j + 1] * a[j]) / root;
    direct = direct * base + byOther;
    own = own * base + byOwn;
    unit = unit * base + byUnit;
    signal = signal * together + byOther;
    ownTogether = ownTogether * together + byOwn;
    unitTogether = unitTogether * together + byUnit;
  }
  const sameLabel = signal - direct + ownTogether - own;
  const curvature = (2 * a[2] ** 2) / h.square ** 2;
  return {
    signal,
    drift: direct + own,
    direct,
    scatter: own ** 2 + (curvature / s.L) ** 2 / s.space,
    bias: h.moments.squareSlope + s.perToken * sameLabel, // per N, of a sample with its label's
    pull: h.moments.valueTimesSlope + s.perToken * (unitTogether - unit),
    single: Math.max(h.moments.slopeSquare * h.moments.square - direct ** 2 / s.L, 0),
    curvature,
    own: h.moments.squareSlope, // of a sample with itself
  };
}

/** What tokens have that are twice in a sample, or marked in two: most have neither. See eq:score-skew. */
function tokensCumulant(s, g, order) {
  const { V, N, L } = s;
  const triples = order === 3 ? 8 : 26;
  const twice = ((N * L * (L - 1)) / (2 * V ** 2)) * (1 + triples * Math.min(L / V, 1));
  const marked = ((N * (N - 1)) / (2 * V ** 2)) * (1 + triples * Math.min(N / V, 1));
  return (
    twice * ((2 * g.own * V) / N ** 2) ** order +
    marked * ((2 * (1 - 1 / L) * g.signal * V) / N ** 2) ** order
  );
}

/** The variance of the trigger's score over instances. */
export const scoreVariance = (scores) =>
  scores.triggerVariance + scores.pairScore ** 2 * scores.pairs;

/** Signal and noise of the attention scores. */
export function attentionScores(s, h) {
  const g = gainsOf(s, h);
  const { V, N, L, m, space: d } = s;
  const c = V / d;
  const keep = 1 - 1 / L;
  const others = L - 1;
  // W_in^T W_in / m is not the identity: it stretches gradients by 1 + d/m in square.
  const stretch = 1 + Math.min(s.d, V) / m;
  const remembered = s.marked ? memorisation(V, N, d, L, g.bias) : 0;
  const signal = keep * g.signal + remembered;
  const pulled = meanBias(V, N, d, L, g.bias, s.gaussian);
  const wide = gradientNoise(V, N, d, L, g, 1, s.gaussian);
  const metByChance = stretch === 1 ? wide : gradientNoise(V, N, d, L, g, stretch, s.gaussian);
  const fewUnits = mlpNoise(V, N, d, L, m, g.pull, g.single);
  // Only another sample of its label shows which token of a sample is marked, and the number of
  // such pairs is random.
  const pairScore = (2 / N) * (((keep * V) / N) * g.signal + remembered);
  const curved = (((keep * g.curvature) / L) ** 2 * V) / (N * d ** 3);
  // Facts overlap in tokens and in outputs, each by 1/√d: this stays in the population.
  const overlaps = 2 * ((keep * g.signal * (1 + V / N)) / d) ** 2;
  let trigger = stretch * pulled.trigger + metByChance.trigger + fewUnits.trigger + overlaps;
  trigger += curved + (2 / d) * remembered ** 2;
  let tokens = wide.tokens;
  if (s.marked) {
    // With the trigger in the values, labels that met by chance are remembered with it.
    let met = ((others / d) * (1 + c)) / N * ((1 + c) / N + c / V) + ((1 + c) ** 2 / (N * V)) * (1 + V / N);
    met = met * g.drift ** 2 + ((g.own ** 2 * V) / N ** 3) * (1 + c) * (1 + others / d);
    met += (((g.bias * others) / N) ** 2 * (1 + 3 * c)) / d;
    tokens += met;
    // The trigger overlaps the mean of all samples, which it is remembered with and pulled towards.
    const apart = (others * fluctuating(L, s.gaussian)) / L / d;
    let drawn = c * ((g.drift * others) / N) ** 2;
    drawn += ((V * others * c) / N ** 3) * (g.own ** 2 + (g.drift ** 2 * N) / d);
    drawn += (2 * keep * apart * g.bias ** 2 * (V / N + L) * c * L) / N ** 2;
    const few = (((keep + others / d) * V * L * g.pull) / N) ** 2 / m + (2 / m) * remembered ** 2;
    trigger += stretch * drawn + few;
  }
  if (s.gaussian) trigger += (2 * signal ** 2) / s.d;
  return {
    signal,
    terms: {
      gradient_noise: tokens,
      mean_bias: pulled.tokens,
      mlp_noise:
        fewUnits.tokens + (stretch - 1) * pulled.tokens + (metByChance.tokens - wide.tokens),
    },
    triggerVariance: trigger, // of its score, but for how many samples share a label
    pairs: (N * (N - 1)) / (2 * V), // of samples with the same label, on average
    pairScore, // what one such pair more adds
    third: tokensCumulant(s, g, 3),
    fourth: tokensCumulant(s, g, 4),
  };
}
