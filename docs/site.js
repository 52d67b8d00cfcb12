// What is scrolled sideways can be reached and scrolled by the keyboard.
const reachable = () => {
  for (const each of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code")) {
    each.tabIndex = 0;
  }
};
document.addEventListener("DOMContentLoaded", () => setTimeout(reachable));
window.addEventListener("load", reachable);
