// The page: one state, shown everywhere, changed from anywhere.

import { evaluate, learn } from "./learning/three_step.js";
import { fromAddress, problemOf, toAddress } from "./state.js";
import { solve } from "./theory/required_size.js";
import { endError, predictEnd } from "./theory/end_prediction.js";
import { exponentsOf, predict } from "./theory/prediction.js";
import { recordedError } from "./theory/recorded_error.js";
import { extrapolated } from "./theory/tested_range.js";
import { startAnswer } from "./view/answer.js";
import { startBudget } from "./view/budget.js";
import { startControls } from "./view/controls.js";
import { startDiagram, wholeMap } from "./view/diagram.js";
import { find, later } from "./view/dom.js";
import { showLaws } from "./view/laws.js";
import { startPlanes } from "./view/planes.js";
import { startSteps } from "./view/steps.js";
import { asCommand, asPython, asSweep, figure, startTakeAway } from "./view/take_away.js";
import { startTheme } from "./view/theme.js";
import { startWhy } from "./view/why.js";

const data = JSON.parse(find("data").textContent);
let state = fromAddress(location.hash);
const took = { answer: 0, map: 0 }; // milliseconds, of the last change

function changed(change) {
  state = { ...state, ...change };
  if ((state.x === "width" || state.y === "width") && state.width === null) {
    if (change.x === "width" || change.y === "width") state.width = 256;
    else state = { ...state, x: "dim", y: "samples" };
  }
  if (state.embedding === "orthogonal" && change.embedding) state.dim = Math.max(state.dim, state.vocab + 1);
  show();
}

// The answer at once, the map with the next picture, and what takes longer when things are at rest.
let waiting = 0;
const remember = later(300, () => history.replaceState(null, "", toAddress(state)));

function show() {
  const started = performance.now();
  const problem = problemOf(state);
  const found = predict(problem);
  showControls(state);
  find("target").value = String(state.target);
  showAnswer(problem, found);
  showBudget(state, problem, found);
  showLaws(problem, found);
  showTakeAway(state, problem);
  took.answer = performance.now() - started;
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(() => {
    const began = performance.now();
    showDiagram(state, problem);
    took.map = performance.now() - began;
  });
  showCharts(problem, found);
  remember();
}

const showControls = startControls(changed);
const showAnswer = startAnswer(data);
const showBudget = startBudget();
const showDiagram = startDiagram(data, changed);
const showTakeAway = startTakeAway();
const showWhy = startWhy(changed);
const showCharts = later(150, (problem, found) => showWhy(problem, found));
startPlanes(changed);
startSteps(data);
startTheme(show);
find("target").addEventListener("change", () => changed({ target: Number(find("target").value) }));
addEventListener("hashchange", () => {
  if (location.hash === toAddress(state)) return;
  state = fromAddress(location.hash);
  show();
});

// For the console, and for tests: the same functions that the page is drawn with.
globalThis.recallscope = {
  version: data.version,
  data,
  predict,
  exponentsOf,
  extrapolated: (problem) => extrapolated(problem, data.tested["three-step"]),
  solve,
  predictEnd: (problem) => predictEnd(problem, data),
  endError: (problem, expected) => endError(problem, expected, data),
  recordedError: (problem, name, expected) => recordedError(problem, name, expected, data.simulated),
  learn,
  evaluate,
  asCommand,
  asPython,
  asSweep,
  figure,
  took,
  wholeMap: () => wholeMap(state, problemOf(state)), // milliseconds for every cell, and the drawing
  changed,
  state: () => ({ ...state }),
};
