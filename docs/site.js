// What is scrolled sideways can be reached and scrolled by the keyboard; what fits is not a stop on the way.
const scrolled = [
  ".md-typeset__scrollwrap",
  ".md-typeset pre > code",
  ".formula",
  ".md-typeset p:has(> img, > a > img)",
  ".md-typeset :is(p, li):has(> math)",
].join();
const reachable = () => {
  for (const each of document.querySelectorAll(scrolled)) {
    each.tabIndex = each.scrollWidth > each.clientWidth ? 0 : -1;
  }
};
document.addEventListener("DOMContentLoaded", () => setTimeout(reachable));
window.addEventListener("load", reachable);
window.addEventListener("resize", reachable);
