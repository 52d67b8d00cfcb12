// What is scrolled sideways can be reached and scrolled by the keyboard.
const scrolled = ".md-typeset__scrollwrap, .md-typeset pre > code, .md-typeset p:has(> img, > a > img)";
const reachable = () => {
  for (const each of document.querySelectorAll(scrolled)) {
    each.tabIndex = 0;
  }
};
document.addEventListener("DOMContentLoaded", () => setTimeout(reachable));
window.addEventListener("load", reachable);
