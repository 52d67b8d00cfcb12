// Planes of two sizes on which there are measurements.

import { element, find } from "./dom.js";

const PLAIN = { embedding: "sphere", trigger_in_values: false, activation: "relu", width: null, shown: "recall_accuracy" };
const PLANES = [
  ["512 facts, L = 4: d and N", { vocab: 512, length: 4, dim: 64, samples: 8192, x: "dim", y: "samples" }],
  ["512 facts, L = 128: d and N", { vocab: 512, length: 128, dim: 64, samples: 8192, x: "dim", y: "samples" }],
  ["1024 facts, L = 512: d and N", { vocab: 1024, length: 512, dim: 160, samples: 16384, x: "dim", y: "samples" }],
  ["1024 facts, d = 160: L and N", { vocab: 1024, length: 192, dim: 160, samples: 16384, x: "length", y: "samples" }],
  ["N = 16384, L = 32: d and V", { vocab: 512, length: 32, dim: 64, samples: 16384, x: "dim", y: "vocab" }],
  ["With an MLP, infinite data, 512 facts: d and m", { vocab: 512, length: 4, dim: 64, samples: Infinity, width: 256, x: "dim", y: "width" }],
];

/** Let the reader choose one of the planes that were measured. */
export function startPlanes(changed) {
  const menu = find("plane");
  PLANES.forEach(([title], i) => menu.append(element("option", { value: i }, title)));
  menu.addEventListener("change", () => {
    if (menu.value !== "") changed({ ...PLAIN, ...PLANES[Number(menu.value)][1] });
    menu.value = "";
  });
}
