// The state of the page, one problem and one view of it, kept in the address, so a link restores it.

import { TRAINED } from "./theory/end_law.js";
import { ACCURACIES } from "./theory/prediction.js";
import { ACTIVATIONS, EMBEDDINGS, SIZES } from "./theory/problem.js";

const LARGEST = 2 ** 53;

export const DEFAULTS = {
  vocab: 512,
  samples: 8192,
  dim: 64,
  length: 32,
  width: null,
  activation: "relu",
  embedding: "sphere",
  trigger_in_values: false,
  learner: "adam",
  x: "dim",
  y: "samples",
  shown: "recall_accuracy",
  target: 0.5,
};

const SMALLEST = { vocab: 2, samples: 1, dim: 1, length: 1, width: 1 };

/** A size as it was typed, 50k and 1M included, or undefined if it is not a size. */
export function sizeFrom(name, text) {
  const plain = String(text).trim().replace(/^(inf|∞)$/i, "Infinity");
  const [, digits, unit] = plain.match(/^([\d.]+)([kMB])$/) ?? [null, plain, ""];
  const value = Number(`${digits}${{ k: "e3", M: "e6", B: "e9" }[unit] ?? ""}`);
  if (name === "samples" && value === Infinity) return Infinity;
  const fine = Number.isInteger(value) && value >= SMALLEST[name] && value <= LARGEST;
  return fine && String(text).trim() !== "" ? value : undefined;
}

const one = (choices) => (text) => (choices.includes(text) ? text : undefined);
// Without a prototype: an address may name what every other object has, such as constructor.
const READ = {
  __proto__: null,
  ...Object.fromEntries(SIZES.map((name) => [name, (text) => sizeFrom(name, text)])),
  width: (text) => (text === "none" ? null : sizeFrom("width", text)),
  activation: one(ACTIVATIONS),
  embedding: one(EMBEDDINGS),
  trigger_in_values: (text) => ({ __proto__: null, true: true, false: false })[text],
  learner: one(TRAINED),
  x: one(SIZES),
  y: one(SIZES),
  shown: one(ACCURACIES),
  target: (text) => (Number(text) > 0 && Number(text) < 1 ? Number(text) : undefined),
};

/** The state in an address, with defaults for missing or invalid parts. */
export function fromAddress(hash) {
  const state = { ...DEFAULTS };
  for (const [name, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    const value = READ[name]?.(text);
    if (value !== undefined) state[name] = value;
  }
  if (state.x === state.y) [state.x, state.y] = [DEFAULTS.x, DEFAULTS.y];
  return state;
}

/** The inverse: the part of an address after #. */
export function toAddress(state) {
  const said = Object.keys(DEFAULTS).map((name) => {
    const value = state[name];
    return [name, value === null ? "none" : value === Infinity ? "inf" : String(value)];
  });
  return `#${new URLSearchParams(said)}`;
}

/** The problem of a state, as the closed forms take it. */
export function problemOf(state) {
  const names = [...SIZES, "embedding", "trigger_in_values", "learner"];
  const problem = Object.fromEntries(names.map((name) => [name, state[name]]));
  return { ...problem, activation: state.width === null ? null : state.activation };
}
