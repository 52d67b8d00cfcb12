// Light or dark: as the system says, or as the reader chose.

import { find } from "./dom.js";

/** Let the button turn the page light or dark; the choice is not stored. */
export function startTheme(redraw) {
  const button = find("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const show = (isDark) => {
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
    button.textContent = isDark ? "Light" : "Dark";
    redraw();
  };
  button.addEventListener("click", () => show(document.documentElement.dataset.theme !== "dark"));
  dark.addEventListener("change", () => show(dark.matches));
  show(dark.matches);
}
