// Gauss's rules: nodes and weights of integrals by Legendre's and by Hermite's polynomials.

/** n nodes between −1 and 1; the weights add up to 2. */
export function legendre(n) {
  const nodes = [];
  const weights = [];
  for (let i = 0; i < n; i++) {
    let x = Math.cos((Math.PI * (n - i - 0.25)) / (n + 0.5));
    let slope = 0;
    for (let step = 0; step < 100; step++) {
      let [before, value] = [1, x];
      for (let k = 2; k <= n; k++) {
        [before, value] = [value, ((2 * k - 1) * x * value - (k - 1) * before) / k];
      }
      slope = (n * (x * value - before)) / (x * x - 1);
      const move = value / slope;
      x -= move;
      if (Math.abs(move) < 1e-16) break;
    }
    nodes.push(x);
    weights.push(2 / ((1 - x * x) * slope * slope));
  }
  return { nodes, weights };
}

/** The normalised Hermite polynomials h_0 … h_(degrees−1) at x. */
export function hermitePolynomials(x, degrees) {
  const values = [1, x];
  for (let k = 1; k + 1 < degrees; k++) {
    values.push((x * values[k] - Math.sqrt(k) * values[k - 1]) / Math.sqrt(k + 1));
  }
  return values.slice(0, degrees);
}

/** n nodes of a mean over the normal law; the weights add up to 1. */
export function hermite(n) {
  // The roots of each polynomial lie between those of the one before.
  let roots = [0];
  for (let degree = 2; degree <= n; degree++) {
    const reach = 2 * Math.sqrt(degree);
    const ends = [-reach, ...roots, reach];
    roots = ends.slice(1).map((high, i) => rootBetween(degree, ends[i], high));
  }
  const weights = roots.map((x) => 1 / (n * hermitePolynomials(x, n)[n - 1] ** 2));
  return { nodes: roots, weights };
}

function rootBetween(degree, low, high) {
  const value = (x) => hermitePolynomials(x, degree + 1)[degree];
  const rising = value(high) > 0;
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2;
    if (value(middle) > 0 === rising) high = middle;
    else low = middle;
  }
  return (low + high) / 2;
}
