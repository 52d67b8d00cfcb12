// Random features seen through Hermite polynomials: what an activation does to overlaps.
//
// A hidden unit with weights w ~ N(0, I) receives w·x, a normal number of standard deviation |x|.
// What the theory needs of an activation φ are moments of φ(r g), foremost its coefficients a_j(r) =
// E φ(r g) h_j(g). eq:kernel and eq:kernel-slopes.

import { hermitePolynomials, legendre } from "./quadrature.js";
import { density, ndtr } from "./special.js";

export const DEGREES = 10;

const VALUE = {
  relu: (x) => Math.max(x, 0),
  gelu: (x) => x * ndtr(x),
  tanh: Math.tanh,
  quadratic: (x) => x * x,
  identity: (x) => x,
  "centred-relu": (x) => Math.max(x, 0) - 1 / Math.sqrt(2 * Math.PI),
};
const SLOPE = {
  relu: (x) => (x > 0 ? 1 : 0),
  gelu: (x) => ndtr(x) + x * density(x),
  tanh: (x) => 1 - Math.tanh(x) ** 2,
  quadratic: (x) => 2 * x,
  identity: () => 1,
  "centred-relu": (x) => (x > 0 ? 1 : 0),
};

// A rule on each half-line is exact for smooth φ and for a kink at 0 alike.
function twoHalves(count, reach) {
  const { nodes, weights } = legendre(count);
  const points = nodes.map((x) => (reach / 2) * (x + 1));
  const both = (values, sign) => [...values.map((x) => sign * x).reverse(), ...values];
  const at = both(points, -1);
  return { nodes: at, weights: both(weights, 1).map((w, i) => (reach / 2) * w * density(at[i])) };
}

const { nodes: NODES, weights: WEIGHTS } = twoHalves(24, 9);
const POLYNOMIALS = NODES.map((x) => hermitePolynomials(x, DEGREES));
const mean = (f) => NODES.reduce((sum, x, i) => sum + WEIGHTS[i] * f(x, i), 0);

let last = { activation: "", radius: NaN, found: null };

/** The moments of an activation at inputs of length `radius`. */
export function features(activation, radius) {
  if (last.activation === activation && last.radius === radius) return last.found;
  const found = activation === "identity" ? linear(radius) : integrated(activation, radius);
  last = { activation, radius, found };
  return found;
}

function linear(radius) {
  const coefficients = new Float64Array(DEGREES);
  coefficients[1] = radius;
  return { coefficients, square: radius ** 2, squareSlope: 1, slopeSquare: 1, valueTimesSlope: 0 };
}

function integrated(activation, radius) {
  const coefficients = new Float64Array(DEGREES);
  let [square, squareSlope, slopeSquare, valueTimesSlope] = [0, 0, 0, 0];
  NODES.forEach((x, i) => {
    const value = VALUE[activation](radius * x);
    const slope = SLOPE[activation](radius * x);
    const weight = WEIGHTS[i];
    for (let j = 0; j < DEGREES; j++) coefficients[j] += weight * value * POLYNOMIALS[i][j];
    square += weight * value * value;
    squareSlope += weight * value * value * (x * x - 1);
    slopeSquare += weight * slope * slope;
    valueTimesSlope += weight * value * slope;
  });
  // What is left of a coefficient that should be 0 is rounding.
  for (let j = 0; j < DEGREES; j++) {
    if (Math.abs(coefficients[j]) < 1e-13 * Math.sqrt(square)) coefficients[j] = 0;
  }
  squareSlope /= 2 * radius ** 2;
  return { coefficients, square, squareSlope, slopeSquare, valueTimesSlope };
}

const round12 = (x) => Math.round(x * 1e12) / 1e12;

function remembered(make) {
  const known = {};
  return (activation) => (known[activation] ??= make(activation));
}

/** What reading a stored token takes of an activation; inputs have length 1. */
export const unitConstants = remembered((activation) => {
  const { coefficients: a, squareSlope } = features(activation, 1);
  const value = NODES.map(VALUE[activation]);
  const centred = value.map((x) => x - a[0]);
  const signal = value.map((x) => x * x - a[0] * x);
  const meanSignal = mean((x, i) => signal[i]);
  const square = mean((x, i) => value[i] ** 2);
  const varied = mean((x, i) => centred[i] ** 2);
  const logSlope = (j) =>
    Math.abs(a[j]) > 1e-9 ? (Math.sqrt((j + 1) * (j + 2)) * a[j + 2] + j * a[j]) / 2 / a[j] : 0;
  const degrees = [1, 2, 3];
  return {
    coefficients: a,
    square,
    squareSlope,
    logSlopes: [0, 1, 2].map(logSlope),
    signalVariance: mean((x, i) => signal[i] ** 2) - meanSignal ** 2,
    signalWithNorm: mean((x, i) => signal[i] * value[i] ** 2) - meanSignal * square,
    normVariance: mean((x, i) => value[i] ** 4) - square ** 2,
    third: round12(mean((x, i) => value[i] ** 3) * mean((x, i) => centred[i] ** 3)),
    fourth:
      mean((x, i) => value[i] ** 4) * mean((x, i) => centred[i] ** 4) - 3 * (square * varied) ** 2,
    weighted: degrees.map((j) =>
      degrees.map((k) => mean((x, i) => value[i] ** 2 * POLYNOMIALS[i][j] * POLYNOMIALS[i][k])),
    ),
  };
});

/** The same for tokens that carry the trigger: inputs z + t of length √2, overlap one half. */
export const markedConstants = remembered((activation) => {
  const degrees = 40;
  const a = featuresToDegree(activation, Math.SQRT2, degrees);
  const slope = (j) => a[j] * Math.sqrt(j / 2);
  const curve = (j) => (a[j] * Math.sqrt(j * (j - 1))) / 2;
  let [overlapSlope, overlapCurvature, lengthSlope] = [0, 0, 0];
  for (let j = 0; j + 1 < degrees; j++) overlapSlope += slope(j + 1) ** 2 * 0.5 ** j;
  for (let j = 0; j + 2 < degrees; j++) {
    overlapCurvature += curve(j + 2) ** 2 * 0.5 ** j;
    lengthSlope += 0.5 * curve(j + 2) * a[j] * 0.5 ** j;
  }
  // Given what the trigger sends to a hidden unit, its tokens are independent.
  const value = NODES.map((x) => NODES.map((y) => VALUE[activation](x + y)));
  const means = value.map((row) => mean((x, i) => row[i]));
  const squares = value.map((row) => mean((x, i) => row[i] ** 2));
  const one = mean((x, i) => squares[i]);
  const shared = mean((x, i) => means[i] ** 2);
  const signals = value.map((row, k) => mean((x, i) => (row[i] ** 2 - row[i] * means[k]) ** 2));
  return {
    square: round12(one),
    mean: shared,
    bareMean: a[0] * mean((x) => VALUE[activation](x)),
    overlapSlope,
    overlapCurvature,
    lengthSlope,
    mlpVariance: mean((x, i) => squares[i] * (squares[i] - means[i] ** 2)),
    signalVariance: mean((x, i) => signals[i]) - (one - shared) ** 2,
  };
});

/** Coefficients a_0 … a_(degrees−1) on a finer rule, for series at overlaps that are not small. */
function featuresToDegree(activation, radius, degrees) {
  const { nodes, weights } = twoHalves(200, 12);
  const found = new Float64Array(degrees);
  nodes.forEach((x, i) => {
    const weighted = weights[i] * VALUE[activation](radius * x);
    hermitePolynomials(x, degrees).forEach((h, j) => (found[j] += weighted * h));
  });
  return found;
}
