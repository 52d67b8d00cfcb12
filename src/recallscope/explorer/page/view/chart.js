// A small chart of curves over one size.

import { logScale, short, ticks } from "./axis.js";
import { COLOURS } from "./colours.js";
import { drawn } from "./dom.js";

const WIDTH = 520;
const HEIGHT = 250;
const LEFT = 44;
const RIGHT = 96;
const TOP = 12;
const BOTTOM = 42;
const DASHES = ["", "7 3", "2 3", "9 3 2 3"];

/**
 * Curves with their names at their right ends. Each of `curves` has a name, values over `sizes`, and
 * perhaps a `limit`, which is drawn as a mark at the right edge; `mark` is a size to point out.
 */
export function chart({ sizes, curves, xLabel, yLabel, title, mark }) {
  const x = logScale(sizes[0], sizes[sizes.length - 1], LEFT, WIDTH - RIGHT);
  const y = (value) => HEIGHT - BOTTOM - value * (HEIGHT - BOTTOM - TOP);
  const parts = [];
  for (const tick of ticks(sizes[0], sizes[sizes.length - 1])) {
    parts.push(drawn("line", { x1: x(tick), x2: x(tick), y1: y(0), y2: y(1), class: "grid" }));
    parts.push(drawn("text", { x: x(tick), y: HEIGHT - BOTTOM + 15, class: "tick middle" }, short(tick)));
  }
  for (const tick of [0, 0.5, 1]) {
    parts.push(drawn("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(tick), y2: y(tick), class: "grid" }));
    parts.push(drawn("text", { x: LEFT - 6, y: y(tick) + 4, class: "tick end" }, String(tick)));
  }
  if (mark >= sizes[0] && mark <= sizes[sizes.length - 1]) {
    parts.push(drawn("line", { x1: x(mark), x2: x(mark), y1: y(0), y2: y(1), class: "here" }));
    parts.push(drawn("text", { x: x(mark) + 4, y: TOP + 8, class: "tick" }, "now"));
  }
  const names = spread(curves.map((curve) => y(curve.values[curve.values.length - 1])));
  curves.forEach((curve, k) => {
    const colour = COLOURS[k % COLOURS.length];
    const points = curve.values.map((value, i) => `${x(sizes[i]).toFixed(1)},${y(value).toFixed(1)}`);
    const look = { fill: "none", stroke: colour, "stroke-width": 2.2, "stroke-dasharray": DASHES[k % 4] };
    parts.push(drawn("polyline", { points: points.join(" "), ...look }));
    parts.push(drawn("text", { x: WIDTH - RIGHT + 12, y: names[k] + 4, class: "name" }, curve.name));
    parts.push(drawn("line", { x1: WIDTH - RIGHT + 1, x2: WIDTH - RIGHT + 9, y1: names[k], y2: names[k], ...look }));
  });
  const middle = (LEFT + WIDTH - RIGHT) / 2;
  parts.push(drawn("text", { x: middle, y: HEIGHT - 8, class: "label middle" }, xLabel));
  const turned = `translate(12 ${y(0.5)}) rotate(-90)`;
  parts.push(drawn("text", { transform: turned, class: "label middle" }, yLabel));
  const look = { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": title, class: "chart" };
  return drawn("svg", look, ...parts);
}

/** Heights, moved apart where names would overlap. */
function spread(heights) {
  const order = heights.map((_, i) => i).sort((a, b) => heights[a] - heights[b]);
  const found = [...heights];
  for (let pass = 0; pass < 20; pass++) {
    for (let k = 0; k + 1 < order.length; k++) {
      const [above, below] = [order[k], order[k + 1]];
      const lacking = 15 - (found[below] - found[above]);
      if (lacking <= 0) continue;
      found[above] -= lacking / 2;
      found[below] += lacking / 2;
    }
  }
  const most = Math.max(...found) - (HEIGHT - BOTTOM);
  const least = Math.min(...found) - TOP;
  const off = most > 0 ? most : Math.min(least, 0);
  return found.map((each) => each - off);
}
