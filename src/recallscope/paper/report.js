"use strict";
for (const panel of document.querySelectorAll("[data-figure]")) {
  const figure = JSON.parse(document.getElementById(panel.dataset.figure).textContent);
  // A mouse may zoom; a finger scrolls the page.
  if (matchMedia("(pointer: fine)").matches) figure.layout.dragmode = "zoom";
  Plotly.newPlot(panel, figure.data, figure.layout, { displayModeBar: false, responsive: true });
}
