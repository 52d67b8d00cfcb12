// Exports: commands, code, a sweep file, a link, a figure.

import { DEFAULTS, toAddress } from "../state.js";
import { SIZES } from "../theory/problem.js";
import { find } from "./dom.js";

/** Let the buttons copy and save, and return a function that writes the texts of a state. */
export function startTakeAway() {
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.addEventListener("click", () => copy(find(button.dataset.copy).textContent, button));
  }
  find("save-svg").addEventListener("click", () => save(new Blob([figure()], { type: "image/svg+xml" }), "recallscope.svg"));
  find("save-png").addEventListener("click", savePng);
  return (state, problem) => {
    find("as-command").textContent = asCommand(problem);
    find("as-python").textContent = asPython(problem);
    find("as-sweep").textContent = asSweep(state, problem);
    find("as-link").textContent = `${location.href.split("#")[0]}${toAddress(state)}`;
  };
}

const fieldsOf = (problem) => {
  const fields = SIZES.filter((name) => problem[name] !== null).map((name) => [name, problem[name]]);
  if (problem.width !== null) fields.push(["activation", problem.activation]);
  if (problem.embedding !== DEFAULTS.embedding) fields.push(["embedding", problem.embedding]);
  if (problem.trigger_in_values) fields.push(["trigger_in_values", true]);
  return fields;
};

/** Commands that predict this, run it, and predict recall after training. */
export function asCommand(problem) {
  const options = fieldsOf(problem)
    .map(([name, value]) => (value === true ? "--trigger-in-values" : `--${name} ${value === Infinity ? "inf" : value}`))
    .join(" ");
  return [
    `recallscope predict ${options}`,
    `recallscope run ${options} --seeds 8`,
    `recallscope predict ${options} --learner ${problem.learner}`,
  ].join("\n");
}

/** The same in Python. */
export function asPython(problem) {
  const python = (value) => (value === true ? "True" : value === Infinity ? 'float("inf")' : typeof value === "string" ? `"${value}"` : value);
  const fields = fieldsOf(problem).map(([name, value]) => `${name}=${python(value)}`);
  return [
    "import recallscope",
    "",
    `problem = recallscope.Problem(${fields.join(", ")})`,
    "print(recallscope.predict(problem))",
    "print(recallscope.run(problem, seeds=8))",
  ].join("\n");
}

/** A sweep file over the two sizes of the diagram, around the sizes chosen. */
export function asSweep(state, problem) {
  const varied = [state.x, state.y].filter((name) => Number.isFinite(problem[name] ?? NaN));
  const text = (value) => (typeof value === "string" ? `"${value}"` : value === Infinity ? "inf" : value);
  const fixed = fieldsOf(problem).filter(([name]) => !varied.includes(name));
  const smallest = { vocab: 2, dim: problem.embedding === "orthogonal" ? problem.vocab + 1 : 1 };
  return [
    "seeds = 8",
    "",
    "[problem]",
    ...fixed.map(([name, value]) => `${name} = ${text(value)}`),
    "",
    "[grid]",
    ...varied.map((name) => {
      const low = Math.max(Math.round(problem[name] / 4), smallest[name] ?? 1);
      return `${name} = { from = ${low}, to = ${Math.max(problem[name] * 4, low + 1)}, count = 5 }`;
    }),
  ].join("\n");
}

async function copy(text, button) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    // A page from a disk may lack permission; then select the text, to be copied by hand.
    const range = document.createRange();
    range.selectNodeContents(find(button.dataset.copy));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    button.textContent = "Selected: press Ctrl+C";
  }
  setTimeout(() => (button.textContent = before), 2000);
}

const LOOKS = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "paint-order", "font-size", "font-family", "font-weight", "text-anchor"];

/** The diagram as a separate file, with its colours on the page. */
export function figure() {
  const shown = find("diagram");
  const made = shown.cloneNode(true);
  const [from, to] = [shown.querySelectorAll("*"), made.querySelectorAll("*")];
  from.forEach((each, i) => {
    const looks = getComputedStyle(each);
    for (const name of LOOKS) if (looks.getPropertyValue(name)) to[i].setAttribute(name, looks.getPropertyValue(name));
    to[i].removeAttribute("class");
  });
  const [, , width, height] = shown.getAttribute("viewBox").split(" ");
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  paper.setAttribute("width", "100%");
  paper.setAttribute("height", "100%");
  paper.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
  made.prepend(paper);
  for (const [name, value] of Object.entries({ xmlns: "http://www.w3.org/2000/svg", width, height })) made.setAttribute(name, value);
  return new XMLSerializer().serializeToString(made);
}

function savePng() {
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [2 * image.width, 2 * image.height];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(blob, "recallscope.png"));
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(figure())}`;
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
