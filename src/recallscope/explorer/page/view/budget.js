// The budget of noises: the amount of each at every stage, the bottleneck, and what would help.

import { highestOf } from "../theory/accuracy.js";
import { solve } from "../theory/required_size.js";
import { TERMS } from "../theory/noise.js";
import { accuracyOf, exponentsOf } from "../theory/prediction.js";
import { LETTERS, SIZES } from "../theory/problem.js";
import { noiseColour } from "./colours.js";
import { element, find, later } from "./dom.js";
import { digits, NOISES, raised, share, whole } from "./words.js";

const ORDER = ["attention", "recall", "first_gradient"];
const TITLES = {
  attention: "Attention: does it find the trigger?",
  recall: "Recall: is the right label the highest?",
  first_gradient: "First gradient: what if we stopped after the first gradient?",
};
/** The limit of each size, and its name. */
const LIMITS = {
  vocab: [2, "even V = 2"],
  samples: [Infinity, "even infinite data"],
  dim: [1e6, "even d = 10⁶"],
  length: [2, "even L = 2"],
  width: [1e6, "even m = 10⁶"],
};
const LESS = { vocab: 0.5, length: 0.5 };

/** Return a function that shows the noises of a prediction, and what would help. */
export function startBudget() {
  const needs = later(120, showNeeds);
  return (state, problem, found) => {
    find("noises").replaceChildren(...(found.reason ? [] : ORDER.map((stage) => stagePanel(stage, problem, found))));
    find("bottleneck").replaceChildren(...(found.reason ? ["There is no closed form here."] : theBottleneck(problem, found)));
    find("helps").replaceChildren(...(found.reason ? [] : helpRows(problem, found)));
    needs(state, problem, found);
  };
}

/** About how much noise a stage tolerates before the highest of its rivals reaches the signal. */
function tolerance(stage, { vocab, dim, length, embedding }) {
  const rivals = stage === "attention" ? vocab * -Math.expm1((length - 1) * Math.log1p(-1 / vocab)) : vocab - 1;
  const highest = highestOf(rivals)[1] ** 2;
  const lean = stage === "attention" || embedding === "orthogonal" ? 0 : highest / dim;
  return highest > 0 ? Math.max(1 - lean, 0) / highest : Infinity;
}

function stagePanel(stage, problem, found) {
  const terms = found.noise[stage];
  const wrong = TERMS[stage].filter((name) => name !== "sampling" && terms[name] > 0);
  const total = wrong.reduce((sum, name) => sum + terms[name], 0);
  const stands = tolerance(stage, problem);
  const most = Math.max(total, Number.isFinite(stands) ? stands : 0) * 1.08 || 1;
  const strip = element("div", { class: "strip", "aria-hidden": "true" });
  for (const name of wrong) {
    const part = element("span", { class: "part", title: `${NOISES[name].title}: ${digits(terms[name])}` });
    part.style.width = `${(100 * terms[name]) / most}%`;
    part.style.background = noiseColour(name);
    strip.append(part);
  }
  if (Number.isFinite(stands)) {
    const mark = element("span", { class: "stands" });
    mark.style.left = `${(100 * stands) / most}%`;
    strip.append(mark);
  }
  const rows = [...wrong].sort((a, b) => terms[b] - terms[a]).map((name) => termRow(name, terms[name], total));
  if (terms.sampling > 0) rows.push(termRow("sampling", terms.sampling, null));
  const over = total / stands;
  const says =
    total === 0
      ? "No noise at this stage."
      : `Together ${digits(total)}, ${digits(over, 2)} times the ${digits(stands, 2)} (vertical line) at which the highest of the rivals reaches the signal: ` +
        (over > 1.5 ? "most fail." : over > 0.7 ? "some fail." : "few or none fail.");
  return element(
    "div",
    { class: "stage" },
    element("h4", {}, TITLES[stage]),
    strip,
    element("p", { class: "quiet" }, says),
    element("ul", { class: "terms" }, ...rows),
  );
}

function termRow(name, variance, total) {
  const key = element("span", { class: "key", "aria-hidden": "true" });
  key.style.background = noiseColour(name);
  const part = total === null ? "of the right label" : `${Math.round((100 * variance) / total)} %`;
  const noise = NOISES[name];
  const helps = `${noise.helps.map((size) => (LESS[size] ? "less " : "more ") + LETTERS[size]).join(" or ")}`;
  return element(
    "li",
    {},
    element(
      "details",
      {},
      element("summary", {}, key, `${noise.title} `, element("b", {}, digits(variance)), ` ${part}`),
      element("p", {}, `${noise.says} Against it: ${helps}.`),
    ),
  );
}

function theBottleneck(problem, found) {
  const { stage, term } = found.dominant;
  const powers = exponentsOf(problem, found.dominant);
  const law = SIZES.filter((name) => powers[name]).map((name) => `${LETTERS[name]}${raised(powers[name])}`);
  const noise = NOISES[term];
  const parts = [
    element("b", {}, `${noise.title} of ${stage.replace("_", " ")}`),
    `. ${noise.says} `,
    law.length ? `Near these sizes it goes as ${law.join(" · ")}. ` : "It is a constant. ",
  ];
  const against = SIZES.filter((name) => powers.vocab > 0 && powers[name] < 0);
  if (against.length) {
    const ways = against.map((name) => `${LETTERS[name]} × ${digits(2 ** (-powers.vocab / powers[name]), 3)}`);
    parts.push(`Against this noise alone, twice the facts would take ${ways.join(" or ")}.`);
  }
  // Doubling a size changes several noises at once, so another size may help more.
  const [most] = changes(problem);
  if (most && !noise.helps.includes(most.name) && most.recall - found.recall_accuracy > 0.05)
    parts.push(` But ${word(most)} helps more than anything against it, as other noises cost almost as much.`);
  if (problem.width !== null)
    parts.push(` Without the MLP recall would be ${share(accuracyOf({ ...problem, width: null, activation: null }))}.`);
  return parts;
}

/** What recall becomes if one size is doubled, or halved where less of it helps; the best first. */
function changes(problem) {
  return SIZES.filter((name) => problem[name] !== null && problem[name] !== Infinity)
    .map((name) => {
      const factor = LESS[name] ?? 2;
      const size = Math.max(Math.round(problem[name] * factor), name === "vocab" ? 2 : 1);
      const recall = accuracyOf({ ...problem, [name]: size });
      return { name, factor, size, recall };
    })
    .filter((row) => Number.isFinite(row.recall))
    .sort((a, b) => b.recall - a.recall);
}

function helpRows(problem, found) {
  const now = found.recall_accuracy;
  const rows = changes(problem);
  const most = rows[0];
  const lead =
    now > 0.995
      ? "Recall is complete: nothing needs to be raised."
      : most.recall - now < 0.005
        ? "No single size, doubled or halved, changes recall by much from here."
        : `The best change is ${word(most)}: recall ${share(now)} → ${share(most.recall)}.`;
  const bars = rows.map((row) => {
    const bar = element("span", { class: "bar", "aria-hidden": "true" });
    const grown = element("span", { class: row.recall >= now ? "grown" : "fallen" });
    grown.style.left = `${100 * Math.min(now, row.recall)}%`;
    grown.style.width = `${100 * Math.abs(row.recall - now)}%`;
    const filled = element("span", { class: "filled" });
    filled.style.width = `${100 * Math.min(now, row.recall)}%`;
    bar.append(filled, grown);
    return element("li", {}, element("span", { class: "what" }, word(row)), bar, element("b", {}, share(row.recall)));
  });
  return [element("p", {}, lead), element("ul", { class: "help" }, ...bars)];
}

const word = ({ name, factor, size }) =>
  `${factor < 1 ? "half the" : "twice the"} ${LETTERS[name]} (${whole(size)})`;

/** What each size would have to be for a target, all else given. */
function showNeeds(state, problem, found) {
  const rows = found.reason
    ? []
    : SIZES.filter((name) => problem[name] !== null).map((name) => {
        const value = solve(problem, name, state.target);
        const least = ["vocab", "length"].includes(name) ? "at most" : "at least";
        const said =
          value === null
            ? `not reached: ${LIMITS[name][1]} gives ${share(accuracyOf({ ...problem, [name]: LIMITS[name][0] }))}`
            : `${least} ${whole(value)}`;
        return element(
          "tr",
          {},
          element("th", { scope: "row" }, `${LETTERS[name]}, ${name}`),
          element("td", {}, said),
          element("td", {}, whole(problem[name])),
        );
      });
  find("needs").replaceChildren(...rows);
}
