// Three questions, each with a chart at the sizes chosen.

import { geometric, solve } from "../theory/required_size.js";
import { accuracyOf } from "../theory/prediction.js";
import { LETTERS } from "../theory/problem.js";
import { chart } from "./chart.js";
import { element, find } from "./dom.js";
import { share, whole } from "./words.js";

const POINTS = 40;
const LENGTHS = [8, 32, 128, 512];

/** Cases that the buttons of the third question bring up, each bound by something else. */
const CASES = {
  "try-interference": { vocab: 512, samples: 8192, dim: 64, length: 32, width: null },
  "try-attention": { vocab: 512, samples: 1000, dim: 64, length: 256, width: null },
  "try-sampling": { vocab: 512, samples: 512, dim: 256, length: 4, width: null },
  "try-mlp": { vocab: 512, samples: 16384, dim: 128, length: 8, width: 64 },
};

/** Let the buttons choose sizes, and return a function that draws the charts of a problem. */
export function startWhy(changed) {
  const plain = { embedding: "sphere", trigger_in_values: false, activation: "relu" };
  const back = find("try-back");
  let before = null;
  back.addEventListener("click", () => {
    changed(before);
    before = null;
    back.hidden = true;
  });
  for (const [id, sizes] of Object.entries(CASES)) {
    find(id).addEventListener("click", () => {
      before ??= now;
      back.hidden = false;
      changed({ ...plain, ...sizes });
      find("play").scrollIntoView();
    });
  }
  let now = null;
  return (problem, found) => {
    const { embedding, trigger_in_values, activation, vocab, samples, dim, length, width } = problem;
    now = { embedding, trigger_in_values, activation: activation ?? "relu", vocab, samples, dim, length, width };
    for (const id of ["why-length", "why-data", "why-which"]) find(id).hidden = Boolean(found.reason);
    if (found.reason) return;
    drawLengths(problem);
    drawData(problem, found);
    drawWhich(problem, found);
  };
}

const along = (problem, name, sizes, accuracy) =>
  sizes.map((size) => accuracyOf({ ...problem, [name]: size }, accuracy) || 0);

function drawLengths(problem) {
  const { vocab } = problem;
  const sizes = geometric(Math.max(vocab / 16, 2), vocab * 256, POINTS);
  const curves = LENGTHS.map((length) => ({
    name: `L = ${length}`,
    values: along({ ...problem, length }, "samples", sizes, "attention_accuracy"),
  }));
  const title = `How often attention finds the trigger against the number of samples, for sequences of ${LENGTHS.join(", ")} tokens, at V = ${vocab} and d = ${problem.dim}.`;
  const look = { sizes, curves, xLabel: "N, samples", yLabel: "attention accuracy", title, mark: problem.samples };
  const needed = LENGTHS.map((length) => {
    const samples = solve({ ...problem, length }, "samples", 0.9, "attention_accuracy");
    return `${samples === null ? "no number of" : whole(samples)} at L = ${length}`;
  });
  find("why-length").replaceChildren(
    chart(look),
    element("p", {}, `At your V and d, an attention accuracy of 0.9 takes these samples: ${needed.join(", ")}.`),
  );
}

function drawData(problem, found) {
  const sizes = geometric(Math.max(problem.vocab / 4, 2), problem.vocab * 1024, POINTS);
  const dims = [0.5, 1, 2].map((factor) => Math.max(Math.round(problem.dim * factor), 1));
  const curves = [...new Set(dims)].map((dim) => ({
    name: `d = ${dim}`,
    values: along({ ...problem, dim }, "samples", sizes, "recall_accuracy"),
  }));
  const limit = (dim) => accuracyOf({ ...problem, dim, samples: Infinity });
  const title = `Recall against the number of samples at d = ${dims.join(", ")}: each curve ends at a different level.`;
  const look = { sizes, curves, xLabel: "N, samples", yLabel: "recall", title, mark: problem.samples };
  find("why-data").replaceChildren(
    chart(look),
    element(
      "p",
      {},
      `At your sizes recall is ${share(found.recall_accuracy)}. With infinite data it would be ${share(limit(problem.dim))}; ` +
        `with twice the dimension and infinite data ${share(limit(2 * problem.dim))}.`,
    ),
  );
}

function drawWhich(problem, found) {
  const factors = geometric(64, 4096, POINTS).map((each) => each / 256);
  const names = ["dim", "samples", "width"].filter((name) => Number.isFinite(problem[name] ?? NaN));
  const curves = names.map((name) => ({
    name: `times ${LETTERS[name]}`,
    values: along(problem, name, factors.map((factor) => Math.max(factor * problem[name], 1)), "recall_accuracy"),
  }));
  const title = "Recall if one size is multiplied by a factor and all others stay.";
  const look = { sizes: factors, curves, xLabel: "one size is multiplied by", yLabel: "recall", title, mark: 1 };
  const doubled = names.map((name) => ({ name, recall: accuracyOf({ ...problem, [name]: 2 * problem[name] }) }));
  doubled.sort((a, b) => b.recall - a.recall);
  const said = doubled.map(({ name, recall }) => `twice ${LETTERS[name]} gives ${share(recall)}`).join(", ");
  find("why-which").replaceChildren(
    chart(look),
    element("p", {}, `At your sizes recall is ${share(found.recall_accuracy)}; ${said}.`),
  );
}
