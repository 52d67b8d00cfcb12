// Special functions, to about fourteen digits: the normal law, factorials, the Poisson law.

const ROOT_TWO_PI = Math.sqrt(2 * Math.PI);

// Mills' ratio R(x) = (1 − Φ(x)) / φ(x), as Taylor series about the points of a grid. It obeys
// R' = x R − 1, so every further derivative follows from two before it.
const PER_UNIT = 16;
const TERMS = 8;
const FARTHEST = 39; // beyond, 1 − Φ is below the smallest number
const MILLS = millsTable();

function millsTable() {
  const table = new Float64Array((FARTHEST * PER_UNIT + 2) * TERMS);
  for (let i = 0; i * TERMS < table.length; i++) {
    const x = i / PER_UNIT;
    const at = i * TERMS;
    table[at] = millsRatio(x);
    table[at + 1] = x * table[at] - 1;
    // R^(n+1) = x R^(n) + n R^(n−1), as coefficients of the series.
    for (let n = 1; n + 1 < TERMS; n++) {
      table[at + n + 1] = (x * table[at + n] + table[at + n - 1]) / (n + 1);
    }
  }
  return table;
}

// The continued fraction 1/(x + 1/(x + 2/(x + …))), from as far as it takes.
function millsRatio(x) {
  if (x === 0) return Math.sqrt(Math.PI / 2);
  let fraction = 0;
  for (let n = Math.ceil((36 / x) ** 2 / 2) + 10; n > 0; n--) fraction = n / (x + fraction);
  return 1 / (x + fraction);
}

/** R(x) for x from 0 to FARTHEST. */
function mills(x) {
  const i = Math.round(x * PER_UNIT);
  const h = x - i / PER_UNIT;
  const at = i * TERMS;
  return (
    MILLS[at] + h * (MILLS[at + 1] + h * (MILLS[at + 2] + h * (MILLS[at + 3] + h * (MILLS[at + 4] +
    h * (MILLS[at + 5] + h * (MILLS[at + 6] + h * MILLS[at + 7]))))))
  );
}

/** The density of the normal law. */
export function density(x) {
  return Math.exp(-0.5 * x * x) / ROOT_TWO_PI;
}

/** Φ: the probability of the normal law below x. */
export function ndtr(x) {
  if (x > 0) return x > FARTHEST ? 1 : 1 - density(x) * mills(x);
  return x > -FARTHEST ? density(x) * mills(-x) : x === x ? 0 : NaN;
}

/** The inverse of Φ. */
export function ndtri(share) {
  if (share > 0.5) return -ndtri(1 - share);
  if (!(share > 0)) return share === 0 ? -Infinity : NaN;
  return -fromLogTail(Math.log(share));
}

/** The inverse of Φ from the logarithm of a probability, which may be close to 1. */
export function ndtriExp(logShare) {
  if (logShare > -Math.LN2) return fromLogTail(log1mExp(logShare));
  return -fromLogTail(logShare);
}

function log1mExp(x) {
  return Math.log(-Math.expm1(x));
}

// z ≥ 0 with log(1 − Φ(z)) = wanted: Newton's rule, which never leaves a concave function.
function fromLogTail(wanted) {
  let z = Math.sqrt(Math.max(-2 * wanted - Math.log(2 * Math.PI), 0.02));
  z = Math.max(z - Math.log(z + 0.6) / (z + 0.6), 0);
  for (let step = 0; step < 12; step++) {
    const ratio = z < FARTHEST ? mills(z) : millsRatio(z);
    const error = Math.log(ratio / ROOT_TWO_PI) - 0.5 * z * z - wanted;
    z = Math.max(z + error * ratio, 0);
    if (Math.abs(error) < 1e-13 * Math.max(1, -wanted)) break;
  }
  return z;
}

const LOG_FACTORIALS = [0];
for (let n = 1; n < 256; n++) LOG_FACTORIALS.push(LOG_FACTORIALS[n - 1] + Math.log(n));

/** log n! */
export function logFactorial(n) {
  if (n < LOG_FACTORIALS.length) return LOG_FACTORIALS[n];
  const x = n + 1;
  return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + 1 / (12 * x) - 1 / (360 * x ** 3);
}

/** The Poisson probabilities of 0 … count − 1, which are all that matter: they add up to one. */
export function poisson(count, mean) {
  const weights = new Float64Array(count);
  const logMean = Math.log(mean);
  let sum = 0;
  for (let n = 0; n < count; n++) {
    weights[n] = Math.exp((n === 0 ? 0 : n * logMean) - mean - logFactorial(n));
    sum += weights[n];
  }
  for (let n = 0; n < count; n++) weights[n] /= sum;
  return weights;
}

/** The probability that a Poisson number is at most `count`. */
export function pdtr(count, mean) {
  if (count < 0) return 0;
  const a = Math.floor(count) + 1;
  if (mean <= 0) return 1;
  const far = (mean - a) / Math.sqrt(a);
  if (far > 40 * (1 + mean / a)) return 0;
  if (a >= MANY && mean >= MANY && Math.abs(mean / a - 1) < 0.7) return uniformGamma(a, mean);
  return mean < a ? 1 - lowerGamma(a, mean) : upperGamma(a, mean);
}

function gammaFactor(a, x) {
  return Math.exp(a * Math.log(x) - x - logFactorial(a - 1));
}

// The incomplete gamma functions of whole a, by their series and by their continued fraction.
function lowerGamma(a, x) {
  let term = 1 / a;
  let sum = term;
  for (let n = 1; n < 10000 && term > 1e-17 * sum; n++) {
    term *= x / (a + n);
    sum += term;
  }
  return gammaFactor(a, x) * sum;
}

function upperGamma(a, x) {
  let b = x + 1 - a;
  let c = 1e300;
  let d = 1 / (b || 1e-300);
  let h = d;
  for (let n = 1; n < 10000; n++) {
    const step = -n * (n - a);
    b += 2;
    d = 1 / (step * d + b || 1e-300);
    c = b + step / c || 1e-300;
    h *= d * c;
    if (Math.abs(d * c - 1) < 1e-16) break;
  }
  return gammaFactor(a, x) * h;
}

// For many, Temme's expansion: Q(a, x) = Φ(−η√a) + exp(−aη²/2)/√(2πa) Σ C_k(η) a^−k, with
// η²/2 = μ − log(1 + μ) and μ = x/a − 1. C_0 = 1/μ − 1/η and
// C_k = C_(k−1)' / η + (−1)^k g_k / μ, g_k being Stirling's coefficients; all as power series in η.
const MANY = 100;
const STIRLING = [1, 1 / 12, 1 / 288, -139 / 51840];
const UNIFORM = uniformSeries(30);

function uniformSeries(degree) {
  // μ = η + η²/3 + …, as μ μ' = η (1 + μ).
  const mu = [0, 1];
  for (let n = 2; n <= degree + 2; n++) {
    let sum = mu[n - 1];
    for (let k = 2; k < n; k++) sum -= (n + 1 - k) * mu[k] * mu[n + 1 - k];
    mu.push(sum / (n + 1));
  }
  // η/μ as a series, and 1/μ as the same of one degree less.
  const inverse = [1];
  for (let n = 1; n <= degree + 1; n++) {
    let sum = 0;
    for (let k = 1; k <= n; k++) sum -= mu[k + 1] * inverse[n - k];
    inverse.push(sum);
  }
  const series = [inverse.slice(1)];
  for (let k = 1; k < STIRLING.length; k++) {
    const before = series[k - 1];
    const sign = k % 2 ? -1 : 1;
    // What goes with 1/η cancels: before[1] + sign · g_k = 0.
    const next = [];
    for (let n = 0; n + 2 < before.length; n++) {
      next.push((n + 2) * before[n + 2] + sign * STIRLING[k] * inverse[n + 1]);
    }
    series.push(next);
  }
  return series;
}

function uniformGamma(a, x) {
  const mu = x / a - 1;
  const half = Math.abs(mu) < 1e-3 ? mu * mu * (1 / 2 - mu / 3 + mu ** 2 / 4 - mu ** 3 / 5 + mu ** 4 / 6) : mu - Math.log1p(mu);
  const eta = Math.sign(mu) * Math.sqrt(2 * half);
  let sum = 0;
  for (let k = UNIFORM.length - 1; k >= 0; k--) {
    let value = 0;
    for (let n = UNIFORM[k].length - 1; n >= 0; n--) value = value * eta + UNIFORM[k][n];
    sum = sum / a + value;
  }
  const z = eta * Math.sqrt(a);
  return ndtr(-z) + (density(z) / Math.sqrt(a)) * sum;
}
