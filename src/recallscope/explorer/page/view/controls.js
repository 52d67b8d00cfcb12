// Sliders and fields for the sizes, and menus for the options.

import { sizeFrom } from "../state.js";
import { LETTERS, SIZES } from "../theory/problem.js";
import { element, find } from "./dom.js";
import { SIZE_WORDS, whole } from "./words.js";

// A slider moves in eighths of a doubling: two sizes next to each other differ by 9 %.
const PER_DOUBLING = 8;
const DOUBLINGS = { vocab: [1, 20], samples: [0, 30], dim: [0, 14], length: [0, 12], width: [0, 17] };

const sizeAt = (place) => Math.round(2 ** (place / PER_DOUBLING));
const placeOf = (size) => Math.round(Math.log2(size) * PER_DOUBLING);

/** Fill the form, call `changed` with what was changed, and return a function that shows a state. */
export function startControls(changed) {
  const rows = Object.fromEntries(SIZES.map((name) => [name, sizeRow(name, changed)]));
  find("sizes").append(...SIZES.map((name) => rows[name].row));
  find("sizes").closest("form").addEventListener("submit", (event) => event.preventDefault());
  const mlp = find("mlp");
  mlp.addEventListener("change", () => changed({ width: mlp.checked ? 256 : null }));
  const population = find("population");
  population.addEventListener("change", () => {
    changed({ samples: population.checked ? Infinity : 8192 });
  });
  rows.samples.row.append(population.closest("label"));
  rows.width.row.append(mlp.closest("label"));
  for (const name of ["activation", "embedding", "learner"]) {
    find(name).addEventListener("change", () => changed({ [name]: find(name).value }));
  }
  const trigger = find("trigger_in_values");
  trigger.addEventListener("change", () => changed({ trigger_in_values: trigger.checked }));
  return (state) => {
    for (const name of SIZES) rows[name].show(state[name]);
    mlp.checked = state.width !== null;
    population.checked = state.samples === Infinity;
    find("activation").disabled = state.width === null;
    for (const name of ["activation", "embedding", "learner"]) find(name).value = state[name];
    trigger.checked = state.trigger_in_values;
  };
}

function sizeRow(name, changed) {
  const [low, high] = DOUBLINGS[name].map((doublings) => doublings * PER_DOUBLING);
  const id = `size-${name}`;
  const slider = element("input", { type: "range", id, min: low, max: high, step: 1 });
  const field = element("input", {
    type: "text",
    inputmode: "numeric",
    autocomplete: "off",
    spellcheck: "false",
    "aria-label": `${LETTERS[name]}, ${SIZE_WORDS[name]}, typed`,
  });
  slider.addEventListener("input", () => changed({ [name]: Math.max(sizeAt(Number(slider.value)), name === "vocab" ? 2 : 1) }));
  field.addEventListener("change", () => {
    const size = sizeFrom(name, field.value.replace(/[\s\u202f,]/g, ""));
    field.setAttribute("aria-invalid", String(size === undefined));
    wrong.hidden = size !== undefined;
    if (size !== undefined) changed({ [name]: size });
  });
  const label = element("label", { for: id }, element("i", {}, LETTERS[name]), ` ${SIZE_WORDS[name]}`);
  const wrong = element("p", { class: "quiet", role: "alert" }, `A whole number from ${name === "vocab" ? 2 : 1} on, such as 512 or 1e6. The last one is kept.`);
  wrong.hidden = true;
  const row = element("div", { class: "size" }, label, slider, field, wrong);
  const show = (size) => {
    const used = size !== null && size !== Infinity;
    slider.disabled = !used;
    field.disabled = !used;
    if (used) slider.value = placeOf(size);
    slider.setAttribute("aria-valuetext", used ? whole(size) : size === null ? "no MLP" : "infinite");
    if (document.activeElement !== field) field.value = used ? String(size) : size === null ? "none" : "∞";
    if (used) field.removeAttribute("aria-invalid");
    wrong.hidden = true;
  };
  return { row, show };
}
