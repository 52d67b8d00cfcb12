// The three steps on a small example, one after the other, computed here.

import { attended, attentionScores, evaluate, labelScores, learn } from "../learning/three_step.js";
import { COLOURS, GREY, twoSided } from "./colours.js";
import { drawn, element, find } from "./dom.js";
import { NAMES, share } from "./words.js";

const STEPS = ["The batch", "Step 1: a first memory", "Step 2: attention", "Step 3: the memory again"];
const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const token = (index) => LETTERS[index];
const label = (index) => LETTERS[index].toUpperCase();

/** Let the reader choose an example, a step, a token and a sequence. */
export function startSteps(data) {
  const examples = data.examples.map((example) => {
    const learned = learn(example);
    return { ...example, learned, hits: evaluate(example, learned) };
  });
  const chosen = { example: 0, step: 0, asked: 0, test: 0 };
  const set = (change) => {
    Object.assign(chosen, change);
    show(examples[chosen.example], chosen, set);
  };
  const menu = find("example");
  examples.forEach((example, i) => menu.append(element("option", { value: i }, example.title)));
  menu.addEventListener("change", () => set({ example: Number(menu.value), asked: 0, test: 0 }));
  STEPS.forEach((title, i) => {
    find("steps-list").append(
      element("li", {}, element("button", { type: "button", onclick: () => set({ step: i }) }, title)),
    );
  });
  find("step-back").addEventListener("click", () => set({ step: Math.max(chosen.step - 1, 0) }));
  find("step-next").addEventListener("click", () => set({ step: Math.min(chosen.step + 1, 3) }));
  set({});
}

function show(example, chosen, set) {
  const { problem, hits } = example;
  find("example-said").textContent =
    `${example.shows} V = ${problem.vocab}, N = ${problem.samples}, d = ${problem.dim}, L = ${problem.length}.`;
  [...find("steps-list").querySelectorAll("button")].forEach((button, i) => {
    if (i === chosen.step) button.setAttribute("aria-current", "step");
    else button.removeAttribute("aria-current");
  });
  find("step-back").disabled = chosen.step === 0;
  find("step-next").disabled = chosen.step === 3;
  const panel = [batchPanel, firstPanel, attentionPanel, lastPanel][chosen.step];
  find("step").replaceChildren(element("h3", {}, STEPS[chosen.step]), ...panel(example, chosen, set));
  find("example-result").textContent =
    `On ${example.tests.length} fresh sequences: ` +
    Object.entries(NAMES).map(([name, word]) => `${word} ${share(hits[name])}`).join(", ") + ".";
}

function sequence(sample) {
  const chips = sample.tokens.map((each, i) =>
    element("span", { class: i === sample.position ? "chip marked" : "chip" }, i === sample.position ? `▼${token(each)}` : token(each)),
  );
  return element("li", {}, ...chips, element("span", { class: "arrow" }, " → "), element("span", { class: "chip label" }, label(sample.label)));
}

function batchPanel(example) {
  const shown = example.samples.slice(0, 10);
  return [
    element(
      "p",
      {},
      `Each sequence has ${example.problem.length} tokens, small letters. One is marked by the trigger, ▼. The answer, a capital ` +
        "letter, is the image of the marked token under a fixed permutation: these are the facts. The model sees which tokens are marked " +
        "and the answers of the batch, and nothing else.",
    ),
    element("ul", { class: "sequences" }, ...shown.map(sequence)),
    element("p", { class: "quiet" }, `${shown.length} of ${example.samples.length} sequences.`),
  ];
}

function firstPanel(example, chosen, set) {
  return [
    element(
      "p",
      {},
      "Attention is still uniform, so the model reads the mean of all tokens of a sequence. The first gradient step stores the label " +
        "under that mean. Below is this memory, a matrix of d × d numbers, and what it answers when it is asked for one token: the " +
        "right label, but also all labels of sequences in which the token was a distractor.",
    ),
    ...memoryParts(example, example.learned.V1, "memory after step 1", chosen, set),
  ];
}

function attentionPanel(example, chosen, set) {
  const sample = example.tests[chosen.test];
  const scores = attentionScores(example, example.learned.alpha, sample);
  const highest = attended(example, example.learned.alpha, sample);
  const most = Math.max(...scores.map(Math.abs));
  const even = 1 / sample.tokens.length;
  const rows = sample.tokens.map((each, i) => {
    const after = element("span", { class: scores[i] < 0 ? "score below" : "score" });
    after.style.width = `${(46 * Math.abs(scores[i])) / most}%`;
    const before = element("span", { class: "weight" });
    before.style.width = `${100 * even}%`;
    const marked = i === sample.position;
    const chip = element("span", { class: marked ? "chip marked" : "chip" }, marked ? `▼${token(each)}` : token(each));
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, chip),
      element("td", {}, element("span", { class: "track" }, before), ` ${even.toFixed(2)}`),
      element("td", {}, element("span", { class: "track middle" }, after), ` ${(scores[i] / most).toFixed(2)}`),
      element("td", {}, i === highest ? "1" : "0", i === highest ? (marked ? " ✓ the marked token" : " ✗ not the marked token") : ""),
    );
  });
  const next = element("button", { type: "button", onclick: () => set({ test: (chosen.test + 1) % example.tests.length }) }, "Another fresh sequence");
  return [
    element(
      "p",
      {},
      "The second gradient step asks of every position: does its token agree with what the first memory has stored for the label? If " +
        "the marked tokens agree more than the others, attention learns to follow the trigger. Before the step all weights are equal. " +
        "After it each position has a score: of its token, and of the trigger where it is marked. With large steps all weight goes to " +
        "the highest score.",
    ),
    element("div", { class: "tools" }, next, element("span", { class: "quiet" }, ` fresh sequence ${chosen.test + 1} of ${example.tests.length}, answer ${label(sample.label)}`)),
    element(
      "div",
      { class: "box", tabindex: "0", role: "region", "aria-label": "Attention of one sequence" },
      element(
        "table",
        { class: "attention" },
        element("thead", {}, element("tr", {}, ...["token", "weight before", "score after, over the largest", "weight after"].map((text) => element("th", { scope: "col" }, text)))),
        element("tbody", {}, ...rows),
      ),
    ),
    element("p", {}, `Over all fresh sequences the marked token has the highest score in ${(100 * example.hits.attention_accuracy).toFixed(0)} % of them: that is the attention accuracy.`),
  ];
}

function lastPanel(example, chosen, set) {
  const found = example.samples.filter((sample) => attended(example, example.learned.alpha, sample) === sample.position).length;
  return [
    element(
      "p",
      {},
      "The third step stores the labels again, now each under the one token that attention looks at. " +
        `That was the marked token in ${found} of the ${example.samples.length} sequences of the batch; there the distractors are gone. What is left is ` +
        "interference: tokens that overlap answer for each other. Ask for a token, and look at the wrong labels.",
    ),
    ...memoryParts(example, example.learned.V2, "memory after step 3", chosen, set),
  ];
}

/** A memory as a matrix, as what all tokens answer, and as the answer to the token asked for. */
function memoryParts(example, memory, name, chosen, set) {
  const order = example.permutation; // labels in the order of their tokens: right answers on the diagonal
  const answers = example.tokens.map((_, asked) => {
    const scores = labelScores(example, memory, asked);
    return order.map((each) => scores[each]);
  });
  const right = answers.filter((row, i) => row.indexOf(Math.max(...row)) === i).length;
  const menu = element("select", { id: "asked", onchange: (event) => set({ asked: Number(event.target.value) }) });
  example.tokens.forEach((_, i) => menu.append(element("option", { value: i, selected: i === chosen.asked }, `${token(i)} (answer ${label(order[i])})`)));
  return [
    element(
      "div",
      { class: "memories" },
      element("figure", {}, heatMap(memory, `The ${name}, ${memory.length} by ${memory.length} numbers`), element("figcaption", {}, `The ${name}, d × d.`)),
      element(
        "figure",
        {},
        heatMap(answers, `Scores of all labels for all tokens; ${right} of ${answers.length} tokens have their right label highest`, chosen.asked),
        element("figcaption", {}, `Asked for each token (rows), the scores of all labels (columns). Right answers are the diagonal: highest in ${right} of ${answers.length} rows.`),
      ),
      element(
        "div",
        { class: "asked" },
        element("label", { for: "asked" }, "Ask for token "),
        menu,
        scoreBars(answers[chosen.asked], chosen.asked, order),
      ),
    ),
  ];
}

function heatMap(rows, title, chosen = -1) {
  const side = 240;
  const [w, h] = [side / rows[0].length, side / rows.length];
  const most = Math.max(...rows.flat().map(Math.abs));
  const parts = rows.flatMap((row, i) =>
    row.map((value, j) => drawn("rect", { x: (j * w).toFixed(2), y: (i * h).toFixed(2), width: (w + 0.3).toFixed(2), height: (h + 0.3).toFixed(2), fill: twoSided(value / most) })),
  );
  if (chosen >= 0) parts.push(drawn("rect", { x: 0, y: chosen * h, width: side, height: h, class: "frame" }));
  return drawn("svg", { viewBox: `0 0 ${side} ${side}`, role: "img", "aria-label": `${title}. Orange is positive, blue negative.`, class: "heat" }, ...parts);
}

function scoreBars(scores, asked, order) {
  const [row, gap, width] = [15, 22, 260];
  const most = Math.max(...scores.map(Math.abs));
  const highest = scores.indexOf(Math.max(...scores));
  const parts = scores.flatMap((score, i) => {
    const length = (Math.abs(score) / most) * 100;
    const colour = i === asked ? COLOURS[2] : i === highest ? COLOURS[1] : GREY;
    const said = i === asked ? "right" : i === highest ? "wins, and is wrong" : "";
    return [
      drawn("text", { x: 8, y: i * row + 12, class: "tick" }, label(order[i])),
      drawn("rect", { x: score < 0 ? gap + 60 - length * 0.6 : gap + 60, y: i * row + 3, width: score < 0 ? length * 0.6 : length, height: row - 5, fill: colour }),
      drawn("text", { x: gap + 166, y: i * row + 12, class: "tick" }, said),
    ];
  });
  parts.push(drawn("line", { x1: gap + 60, x2: gap + 60, y1: 0, y2: row * scores.length, class: "axis" }));
  const outcome = highest === asked ? "the right label wins" : `${label(order[highest])} wins, which is wrong`;
  const title = `Scores of all labels when token ${token(asked)} is asked for: ${outcome}.`;
  return element(
    "div",
    {},
    drawn("svg", { viewBox: `0 0 ${width + 40} ${row * scores.length + 4}`, role: "img", "aria-label": title, class: "bars" }, ...parts),
    element("p", {}, title),
  );
}
