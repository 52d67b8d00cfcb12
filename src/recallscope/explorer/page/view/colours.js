// Colour-blind safe colours, which Python has written into the style of the page.

const style = getComputedStyle(document.documentElement);
const given = (name) => style.getPropertyValue(`--${name}`).trim();

/** For lines and bars. */
export const COLOURS = [0, 1, 2, 3, 4, 5].map((place) => given(`colour-${place}`));
export const GREY = given("grey");

/** Of a noise, the same as in figures. */
export const noiseColour = (name) => given(`noise-${name}`);

// Even in grey: dark is 0, light is 1.
const SCALE = given("scale").split(" ").map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));

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
