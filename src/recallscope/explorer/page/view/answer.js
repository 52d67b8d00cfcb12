// The answer: attention, recall and the first gradient, how far to trust them, and the end of training.

import { endError, predictEnd } from "../theory/end_prediction.js";
import { ACCURACIES } from "../theory/prediction.js";
import { recordedError } from "../theory/recorded_error.js";
import { extrapolated } from "../theory/tested_range.js";
import { element, find, later } from "./dom.js";
import { digits, NAMES, share, whole } from "./words.js";

const MEANS = {
  attention_accuracy: "how often attention finds the marked token, on fresh sequences",
  recall_accuracy: "how often the answer is right, after all three steps",
  first_gradient_accuracy: "how often the first gradient alone would answer right",
};

/** Make the cards, and return a function that shows a prediction in them. */
export function startAnswer(data) {
  const cards = Object.fromEntries(ACCURACIES.map((name) => [name, card(name)]));
  find("answers").append(...ACCURACIES.map((name) => cards[name].box));
  const speak = later(600, (text) => (find("spoken").textContent = text));
  const end = later(60, (problem) => showEnd(problem, data));
  return (problem, found) => {
    const warning = find("warning");
    const outside = found.reason ? [] : extrapolated(problem, data.tested["three-step"]);
    warning.hidden = !found.reason && !outside.length;
    warning.textContent = found.reason
      ? `There is ${found.reason.replace(/^no closed form: /, "no closed form here: ")}.`
      : `Extrapolated: ${outside.join("; ")}. The closed forms were not compared with simulation there.`;
    for (const name of ACCURACIES) {
      const value = found.reason ? NaN : found[name];
      const error = found.reason ? null : recordedError(problem, name, value, data.simulated);
      cards[name].show(value, error, outside.length > 0);
    }
    find("exposures").textContent = exposures(problem);
    find("pinned").textContent = found.reason
      ? "no closed form here"
      : ACCURACIES.map((name) => `${NAMES[name]} ${share(found[name])}`).join(" · ");
    speak(found.reason ? warning.textContent : `Predicted: ${find("pinned").textContent}`);
    end(problem);
  };
}

function card(name) {
  const number = element("output", { class: "big" });
  const bar = element("span", { class: "filled" });
  const error = element("p", { class: "quiet" });
  const box = element(
    "div",
    { class: `card ${name}` },
    element("h3", {}, NAMES[name]),
    number,
    element("div", { class: "bar", "aria-hidden": "true" }, bar),
    element("p", {}, MEANS[name]),
    error,
  );
  const show = (value, found, isOutside) => {
    number.textContent = share(value);
    bar.style.width = `${100 * (value || 0)}%`;
    error.textContent = found
      ? `Error at the ${found.problems} nearest simulations${isOutside ? ", which are not near" : ""}: ` +
        `${digits(found.mean, 2)} on average, 90 % within ${digits(found.most, 2)}.`
      : "";
  };
  return { box, show };
}

function exposures({ vocab, samples, dim, width }) {
  const often = samples / vocab;
  const times = often === Infinity ? "without end" : `${digits(often, 4)} times on average`;
  const never = samples === Infinity ? 0 : (1 - 1 / vocab) ** samples;
  const unseen = never > 5e-4 ? ` ${(100 * never).toFixed(never < 0.1 ? 1 : 0)} % of them never appear in the batch.` : "";
  const memory = width === null ? dim * dim : dim * width;
  const made = width === null ? "d × d" : "d × m";
  return `${whole(vocab)} facts, each seen ${times}, in a memory of ${made} = ${whole(memory)} numbers.${unseen}`;
}

function showEnd(problem, data) {
  const found = predictEnd(problem, data);
  const number = find("end-number");
  const said = find("end-said");
  find("end-bar").style.width = `${100 * (found.recall_accuracy ?? 0)}%`;
  if (found.reason) {
    number.textContent = "no law here";
    said.textContent = `There is ${found.reason}, on this page; recallscope predict may have one.`;
    return;
  }
  const error = endError(problem, found.recall_accuracy, data);
  const compared = found.parameters > found.edge ? "more" : "fewer";
  number.textContent = share(found.recall_accuracy);
  said.textContent =
    `= trigger found ${share(found.trigger_found)} × attention at it ${share(found.attention_if_found)} ` +
    `(${problem.learner === "converged" ? "given" : "partly fitted"}) × facts seen ${share(found.facts_seen)} ` +
    `× memory ${share(found.memory_accuracy)} (derived). The memory has ${whole(found.parameters)} numbers, ` +
    `${compared} than the ${whole(found.edge)} that store every fact found.` +
    (error
      ? ` Error at the ${error.problems} nearest trainings: ${digits(error.mean, 2)} on average, ` +
        `90 % within ${digits(error.most, 2)}.`
      : "");
}
