// Colour-blind safe colours.

/** Okabe and Ito's, for lines and bars. */
export const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A8A8A"];

/** Of measurements that lie on a map. */
export const MEASURED = "#FF8C2B";

// Cividis, even in grey: dark blue is 0, yellow is 1.
const SCALE = [
  "00224e", "002e6a", "1a386f", "32436d", "434e6c", "535a6d", "61656f", "6f7073", "7d7c78",
  "8c8878", "9b9476", "aba072", "bcae6c", "cdbb63", "dec958", "f0d846", "fee838",
].map((hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)));

/** Red, green and blue of a number from 0 to 1. */
export function scale(value) {
  const place = Math.min(Math.max(value, 0), 1) * (SCALE.length - 1);
  const below = Math.min(Math.floor(place), SCALE.length - 2);
  return SCALE[below].map((low, i) => Math.round(low + (place - below) * (SCALE[below + 1][i] - low)));
}

/** The same as text. */
export const scaleColour = (value) => `rgb(${scale(value).join(",")})`;

/** Blue below zero, orange above, white at it: for numbers from −1 to 1. */
export function twoSided(value) {
  const end = value < 0 ? [0, 90, 150] : [200, 85, 0];
  const far = Math.min(Math.abs(value), 1);
  return `rgb(${end.map((each) => Math.round(255 + far * (each - 255))).join(",")})`;
}
