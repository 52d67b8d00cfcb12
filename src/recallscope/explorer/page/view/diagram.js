// The phase diagram: an accuracy over two sizes, with lines of equal value, regions and measurements.

import { accuracyOf } from "../theory/prediction.js";
import { phaseMap } from "../theory/phase_map.js";
import { LETTERS, SIZES } from "../theory/problem.js";
import { logScale, short, ticks } from "./axis.js";
import { COLOURS, scale, scaleColour } from "./colours.js";
import { contour, joined, logit } from "./contour.js";
import { drawn, element, find } from "./dom.js";
import { sketchMap } from "./sketch.js";
import { digits, NAMES, NOISES, share, SIZE_WORDS, whole } from "./words.js";

export const CELLS = 60;
const SIDE = { left: 70, right: 92, top: 14, bottom: 54, width: 660, height: 520 };
const RANGES = {
  vocab: [16, 16384],
  samples: [64, 2 ** 20],
  dim: [8, 1024],
  length: [2, 1024],
  width: [16, 16384],
};
const LINES = [
  { level: 0.1, dash: "2 4" },
  { level: 0.5, dash: "" },
  { level: 0.9, dash: "9 4" },
];
const SMALLEST_NAMED = 0.04; // of the map, for a region to be named

/** Let clicks on the map choose sizes, and return a function that draws the map of a state. */
export function startDiagram(data, changed) {
  const points = data.measured.points.map((row) => named(data.measured.point, row));
  const crossings = data.measured.crossings.map((row) => named(data.measured.crossing, row));
  for (const name of ["x", "y"]) {
    find(name).addEventListener("change", () => changed(chosenAxis(name, find(name).value)));
  }
  find("shown").addEventListener("change", () => changed({ shown: find("shown").value }));
  const image = find("diagram");
  let place = null;
  image.addEventListener("click", (event) => {
    const box = image.getBoundingClientRect();
    const at = [
      ((event.clientX - box.left) / box.width) * SIDE.width,
      ((event.clientY - box.top) / box.height) * SIDE.height,
    ];
    const sizes = place?.(at);
    if (sizes) changed(sizes);
  });
  let stop = () => {};
  return (state, problem) => {
    for (const name of ["x", "y", "shown"]) find(name).value = state[name];
    const [x, y] = axesOf(state, problem);
    const here = matching(problem, state, points, crossings);
    const around = [...measuredMarks(here, x, y, state), ...youAreHere(problem, x, y), ...colourBar(state)];
    stop();
    stop = sketchMap(problem, x, y, state.shown, (map, done) => {
      const under = mapParts(map, x, y);
      image.replaceChildren(drawn("title", {}, describe(state, problem, map)), ...under, ...around);
      image.dataset.done = String(done);
    });
    place = ([px, py]) => {
      if (px < SIDE.left || px > SIDE.width - SIDE.right || py < SIDE.top || py > SIDE.height - SIDE.bottom) return null;
      return { [x.name]: whole_(x.sizeAt(px), x.name), [y.name]: whole_(y.sizeAt(py), y.name) };
    };
    showMeasured(here, state, problem);
  };
}

const mapParts = (map, x, y) => [
  ...frame(x, y),
  cells(map.values),
  ...regions(map),
  ...lines(map.values),
];

const axesOf = (state, problem) => [
  axis(state.x, problem, SIDE.left, SIDE.width - SIDE.right),
  axis(state.y, problem, SIDE.height - SIDE.bottom, SIDE.top),
];

/** How many milliseconds it takes to work out every cell of a map, and to draw it. */
export function wholeMap(state, problem) {
  const started = performance.now();
  const [x, y] = axesOf(state, problem);
  mapParts(phaseMap(problem, x, y, state.shown), x, y);
  return performance.now() - started;
}

const whole_ = (size, name) => Math.max(Math.round(size), name === "vocab" ? 2 : 1);

/** A row by the names of its columns; samples are infinite unless given or sought. */
function named(names, row) {
  const found = Object.fromEntries(names.map((name, i) => [name, row[i]]));
  if (found.samples === null && found.size !== "samples") found.samples = Infinity;
  return found;
}

function chosenAxis(name, size) {
  const other = name === "x" ? find("y") : find("x");
  const before = name === "x" ? "y" : "x";
  const change = { [name]: size };
  if (other.value === size) change[before] = SIZES.find((each) => each !== size && each !== "width");
  return change;
}

function axis(name, problem, from, to) {
  let [low, high] = RANGES[name];
  const now = problem[name];
  if (Number.isFinite(now)) {
    while (now < low) low /= 4;
    while (now > high) high *= 4;
  }
  low = Math.max(low, name === "vocab" ? 2 : 1);
  const values = Array.from({ length: CELLS }, (_, i) => low * (high / low) ** ((i + 0.5) / CELLS));
  const place = logScale(low, high, from, to);
  const sizeAt = (at) => low * (high / low) ** ((at - from) / (to - from));
  return { name, low, high, values, place, sizeAt, inside: (size) => size >= low && size <= high };
}

const columnPlace = (j) => SIDE.left + ((j + 0.5) / CELLS) * (SIDE.width - SIDE.right - SIDE.left);
const rowPlace = (i) => SIDE.height - SIDE.bottom - ((i + 0.5) / CELLS) * (SIDE.height - SIDE.bottom - SIDE.top);

const canvas = document.createElement("canvas");
canvas.width = canvas.height = CELLS;

function cells(values) {
  const context = canvas.getContext("2d");
  const image = context.createImageData(CELLS, CELLS);
  values.forEach((row, i) => {
    row.forEach((value, j) => {
      const at = 4 * ((CELLS - 1 - i) * CELLS + j);
      const [r, g, b] = Number.isNaN(value) ? [150, 150, 150] : scale(value);
      image.data.set([r, g, b, 255], at);
    });
  });
  context.putImageData(image, 0, 0);
  return drawn("image", {
    href: canvas.toDataURL(),
    x: SIDE.left,
    y: SIDE.top,
    width: SIDE.width - SIDE.right - SIDE.left,
    height: SIDE.height - SIDE.bottom - SIDE.top,
    preserveAspectRatio: "none",
    style: "image-rendering: pixelated",
  });
}

function frame(x, y) {
  const parts = [];
  for (const tick of ticks(x.low, x.high)) {
    parts.push(drawn("line", { x1: x.place(tick), x2: x.place(tick), y1: SIDE.height - SIDE.bottom, y2: SIDE.height - SIDE.bottom + 5, class: "axis" }));
    parts.push(drawn("text", { x: x.place(tick), y: SIDE.height - SIDE.bottom + 19, class: "tick middle" }, short(tick)));
  }
  for (const tick of ticks(y.low, y.high)) {
    parts.push(drawn("line", { x1: SIDE.left - 5, x2: SIDE.left, y1: y.place(tick), y2: y.place(tick), class: "axis" }));
    parts.push(drawn("text", { x: SIDE.left - 8, y: y.place(tick) + 4, class: "tick end" }, short(tick)));
  }
  const middle = (SIDE.left + SIDE.width - SIDE.right) / 2;
  parts.push(drawn("text", { x: middle, y: SIDE.height - 12, class: "label middle" }, `${LETTERS[x.name]}, ${SIZE_WORDS[x.name]}`));
  const turned = `translate(16 ${(SIDE.top + SIDE.height - SIDE.bottom) / 2}) rotate(-90)`;
  parts.push(drawn("text", { transform: turned, class: "label middle" }, `${LETTERS[y.name]}, ${SIZE_WORDS[y.name]}`));
  return parts;
}

const path = (line) =>
  line.map(([j, i], k) => `${k ? "L" : "M"}${columnPlace(j).toFixed(1)} ${rowPlace(i).toFixed(1)}`).join("");

/** Lines of several targets, each with its value written on it. */
function lines(values) {
  const logits = values.map((row) => row.map((value) => (Number.isNaN(value) ? NaN : logit(value))));
  return LINES.flatMap(({ level, dash }) => {
    const found = joined(contour(logits, logit(level)));
    if (!found.length) return [];
    const d = found.map(path).join("");
    // Written on the longest, a quarter from its upper end.
    const longest = found.reduce((best, line) => (line.length > best.length ? line : best));
    const upper = longest[0][1] > longest[longest.length - 1][1] ? longest : [...longest].reverse();
    const [j, i] = upper[Math.floor(upper.length / 8)];
    return [
      drawn("path", { d, class: "halo" }),
      drawn("path", { d, class: "contour", "stroke-dasharray": dash || null }),
      drawn("text", { x: columnPlace(j), y: rowPlace(i) + 4, class: "on-map middle" }, String(level)),
    ];
  });
}

/** Borders between cells with different bottlenecks, and the name of each region in it. */
function regions({ bottleneck, values }) {
  let border = "";
  const [w, h] = [columnPlace(1) - columnPlace(0), rowPlace(0) - rowPlace(1)];
  const byName = new Map();
  bottleneck.forEach((row, i) => {
    row.forEach((name, j) => {
      if (name === null) return;
      if (!byName.has(name)) byName.set(name, []);
      byName.get(name).push([i, j]);
      const [right, top] = [columnPlace(j) + w / 2, rowPlace(i) - h / 2];
      if (j + 1 < CELLS && row[j + 1] !== null && row[j + 1] !== name) border += `M${right.toFixed(1)} ${top.toFixed(1)}v${h.toFixed(1)}`;
      if (i + 1 < CELLS && bottleneck[i + 1][j] !== null && bottleneck[i + 1][j] !== name) border += `M${(right - w).toFixed(1)} ${top.toFixed(1)}h${w.toFixed(1)}`;
    });
  });
  const parts = [drawn("path", { d: border, class: "border" })];
  for (const [name, inside] of byName) {
    if (inside.length < SMALLEST_NAMED * CELLS * CELLS) continue;
    const [i, j] = deepest(bottleneck, values, name, inside);
    const [stage, term] = name.split(" ");
    const at = { x: columnPlace(Math.min(Math.max(j, 9), CELLS - 10)), class: "on-map middle small" };
    parts.push(drawn("text", { ...at, y: rowPlace(i) - 2 }, `${stage.replace("_", " ")}:`));
    parts.push(drawn("text", { ...at, y: rowPlace(i) + 12 }, NOISES[term].title));
  }
  return parts;
}

/** The cell of a region from which it is furthest to another, to a line or to the frame. */
function deepest(bottleneck, values, name, inside) {
  const free = (i, j) => bottleneck[i]?.[j] === name && !LINES.some(({ level }) => Math.abs(logit(values[i][j]) - logit(level)) < 0.25);
  let [best, most] = [inside[0], -1];
  for (const [i, j] of inside) {
    if (!free(i, j)) continue;
    let reach = 1;
    while (free(i + reach, j) && free(i - reach, j) && free(i, j + 2 * reach) && free(i, j - 2 * reach)) reach++;
    if (reach > most) [best, most] = [[i, j], reach];
  }
  return best;
}

function youAreHere(problem, x, y) {
  const [atX, atY] = [problem[x.name], problem[y.name]];
  if (!x.inside(atX) || !y.inside(atY)) return [];
  const [cx, cy] = [x.place(atX), y.place(atY)];
  return [
    drawn("circle", { cx, cy, r: 8, class: "here-halo" }),
    drawn("circle", { cx, cy, r: 8, class: "here-ring" }),
    drawn("text", { x: cx + 12, y: cy + 4, class: "on-map" }, "now"),
  ];
}

function colourBar(state) {
  const [x, top, height] = [SIDE.width - SIDE.right + 18, SIDE.top, SIDE.height - SIDE.bottom - SIDE.top];
  const parts = [];
  for (let k = 0; k < 50; k++) {
    parts.push(drawn("rect", { x, y: top + height * (1 - (k + 1) / 50), width: 14, height: height / 50 + 0.6, fill: scaleColour((k + 0.5) / 50) }));
  }
  for (const tick of [0, 0.5, 1]) {
    parts.push(drawn("text", { x: x + 19, y: top + height * (1 - tick) + 4, class: "tick" }, String(tick)));
  }
  const turned = `translate(${x + 52} ${top + height / 2}) rotate(90)`;
  parts.push(drawn("text", { transform: turned, class: "label middle" }, `${NAMES[state.shown]} accuracy, predicted`));
  return parts;
}

/** Measurements of problems that differ from this one in the two sizes of the axes alone. */
function matching(problem, state, points, crossings) {
  const fixed = [...SIZES, "activation", "embedding", "trigger_in_values"].filter((name) => name !== state.x && name !== state.y);
  const size = (value) => (value === null ? "none" : value === Infinity ? "inf" : value);
  const wanted = fixed.map((name) => size(problem[name]));
  const alike = (row, but) => fixed.every((name, i) => name === but || size(row[name]) === wanted[i]);
  return {
    points: points.filter((row) => row[state.shown] && alike(row)),
    crossings: crossings.filter(
      (row) => row.accuracy === state.shown && (row.size === state.x || row.size === state.y) && alike(row),
    ),
  };
}

function measuredMarks({ points, crossings }, x, y, state) {
  const parts = [];
  const radius = points.length > 300 ? 2.1 : 4.5;
  for (const row of points) {
    const [mean] = row[state.shown];
    const [atX, atY] = [row[x.name], row[y.name]];
    if (!x.inside(atX) || !y.inside(atY)) continue;
    const look = { cx: x.place(atX), cy: y.place(atY), r: radius, fill: scaleColour(mean), class: "point" };
    parts.push(drawn("circle", look, drawn("title", {}, pointWords(row, state))));
  }
  for (const row of crossings) {
    const along = row.size === y.name ? y : x;
    const other = row.size === y.name ? x : y;
    if (!other.inside(row[other.name]) || !along.inside(row.value)) continue;
    const across = other.place(row[other.name]);
    const ends = [row.low ?? along.low, row.high ?? along.high].map((end) => along.place(Math.min(Math.max(end, along.low), along.high)));
    const middle = along.place(row.value);
    const bar = along === y ? { x1: across, x2: across, y1: ends[0], y2: ends[1] } : { x1: ends[0], x2: ends[1], y1: across, y2: across };
    const dot = along === y ? { cx: across, cy: middle } : { cx: middle, cy: across };
    parts.push(drawn("line", { ...bar, stroke: COLOURS[1], "stroke-width": 2 }));
    parts.push(drawn("circle", { ...dot, r: 4, fill: COLOURS[1], class: "crossing" }, drawn("title", {}, crossingWords(row))));
  }
  return parts;
}

function pointWords(row, state) {
  const [mean, low, high] = row[state.shown];
  return `measured ${share(mean)} (95 % interval ${share(low)} to ${share(high)}), ${row.seeds} seeds, at ${LETTERS[state.x]} = ${whole(row[state.x])}, ${LETTERS[state.y]} = ${whole(row[state.y])}`;
}

function crossingWords(row) {
  const end = (value) => (value === null ? "beyond the range" : whole(value));
  return `${NAMES[row.accuracy]} crosses ${row.target} at ${LETTERS[row.size]} = ${whole(row.value)} (95 % interval ${end(row.low)} to ${end(row.high)})`;
}

/** The measurements as words and as a table, for those who cannot point at them. */
function showMeasured(here, state, problem) {
  const [many, lines_] = [here.points.length, here.crossings.length];
  const sources = [...new Set([...here.points, ...here.crossings].map((row) => row.source))];
  find("measured-said").textContent =
    many + lines_ === 0
      ? "No measurements match the other sizes of this plane. Choose one of the measured planes to see some."
      : `Measured here: ${many ? `${many} points, coloured by measured accuracy` : ""}${many && lines_ ? "; " : ""}` +
        `${lines_ ? `${lines_} critical sizes (orange, with 95 % bars) where accuracy crosses one half` : ""}. From: ${sources.join("; ")}. Point at one to read its interval.`;
  const rows = here.points.slice(0, 400).map((row) => {
    const at = { ...problem, [state.x]: row[state.x], [state.y]: row[state.y] };
    return [whole(at[state.x]), whole(at[state.y]), share(row[state.shown][0]), `${share(row[state.shown][1])} to ${share(row[state.shown][2])}`, at];
  });
  const box = find("measured-rows");
  const fill = () => {
    const head = [LETTERS[state.x], LETTERS[state.y], "measured", "95 % interval", "closed forms"];
    box.replaceChildren(
      element("thead", {}, element("tr", {}, ...head.map((text) => element("th", { scope: "col" }, text)))),
      element("tbody", {}, ...rows.map(([a, b, mean, interval, at]) =>
        element("tr", {}, ...[a, b, mean, interval, share(accuracyOf(at, state.shown))].map((text) => element("td", {}, text))),
      )),
    );
  };
  const details = find("measured-table");
  details.hidden = !rows.length;
  details.ontoggle = () => details.open && fill();
  if (details.open) fill();
}

function describe(state, problem, map) {
  const known = map.values.flat().filter((value) => !Number.isNaN(value));
  if (!known.length) return "There is no closed form anywhere on this plane.";
  const now = accuracyOf(problem, state.shown);
  return (
    `Predicted ${NAMES[state.shown]} accuracy over ${LETTERS[state.x]} and ${LETTERS[state.y]}: from ` +
    `${digits(Math.min(...known), 2)} to ${digits(Math.max(...known), 2)}; ${share(now)} at the sizes chosen. ` +
    `Lines: accuracy 0.1, 0.5 and 0.9. Click to choose sizes.`
  );
}
