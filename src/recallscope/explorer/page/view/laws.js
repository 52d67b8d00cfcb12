// The laws with the numbers of the problem filled in.

import { interference, gradientNoise } from "../theory/readout.js";
import { element, find } from "./dom.js";
import { digits } from "./words.js";

/** Show the formulas of the largest terms, with the numbers of the problem in them. */
export function showLaws(problem, found) {
  find("laws").replaceChildren(...(found.reason ? [] : rows(problem, found).map(lawRow)));
}

function rows(problem, { noise }) {
  const { vocab: V, dim: d, length: L, embedding } = problem;
  const N = problem.samples;
  const [n, space] = [N === Infinity ? "∞" : N, embedding === "orthogonal" ? Infinity : d];
  const dim = space === Infinity ? "∞" : d;
  const gain = (value, plain) => (plain > 0 ? value / plain : 0);
  const plainInterference = interference(V, N, space);
  const plainGradient = gradientNoise(V, N, space, L);
  const kernel = gain(noise.recall.interference, plainInterference);
  const first = gain(noise.first_gradient.gradient_noise, plainGradient);
  const scaled = (factor) => (Math.abs(factor - 1) < 1e-6 ? "" : `${digits(factor)} · `);
  const c = V / space;
  return [
    {
      name: "interference of recall",
      law: "(1 + V/N)(1 + V/d)/d",
      filled: `${scaled(kernel)}(1 + ${V}/${n})(1 + ${V}/${dim})/${dim}`,
      value: noise.recall.interference,
      note: "stays at N = ∞: (1 + V/d)/d. Only more d, or fewer facts, lowers it",
    },
    {
      name: "sampling of recall",
      law: "V/N",
      filled: `${scaled(gain(noise.recall.sampling, V / N))}${V}/${n}`,
      value: noise.recall.sampling,
      note: "how unevenly the batch shows the facts",
    },
    {
      name: "gradient noise of the first gradient",
      law: "(L − 1)(1 + V/d)²/N",
      filled: `${scaled(first)}(${L} − 1)(1 + ${V}/${dim})²/${n}`,
      value: noise.first_gradient.gradient_noise,
      note: "every label comes with L − 1 distractors; the third step reads none of them",
    },
    {
      name: "mean bias of attention",
      law: "((L − 1)(L − 2)/(N V))² (c + 3c² + c³) / (1 − 1/L)², c = V/d",
      filled: `c = ${digits(c)}; about V L⁴/(N² d³) = ${digits((V * L ** 4) / (N ** 2 * space ** 3))}`,
      value: noise.attention.mean_bias,
      note: "grows with the fourth power of L and falls with N²",
    },
    {
      name: "gradient noise of attention",
      law: "≈ V² L³/(N² d⁴) + V² L²/(N² d³) + V L/(N d³) + V L²/(N d⁴)",
      filled: [
        (V ** 2 * L ** 3) / (N ** 2 * space ** 4),
        (V ** 2 * L ** 2) / (N ** 2 * space ** 3),
        (V * L) / (N * space ** 3),
        (V * L ** 2) / (N * space ** 4),
      ].map((each) => digits(each, 2)).join(" + "),
      value: noise.attention.gradient_noise,
      note: "leading powers, for V far above d; the value has all terms",
    },
    {
      name: "cross-talk of attention",
      law: "≈ 1/d",
      filled: `1/${dim}`,
      value: noise.attention.cross_talk,
      note: "each token overlaps the trigger by about 1/√d",
    },
  ];
}

function lawRow({ name, law, filled, value, note }) {
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, name),
    element("td", { class: "formula" }, law),
    element("td", { class: "formula" }, filled),
    element("td", { class: "number" }, digits(value)),
    element("td", { class: "quiet" }, note),
  );
}
