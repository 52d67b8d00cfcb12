// The statistics of an audit: embedding matrices of a real model, with their effective dimensions.

import { element, find } from "./dom.js";
import { digits, whole } from "./words.js";

const MOST_BYTES = 20e6;

/** Read a file of `recallscope audit FILE --json`, and offer the V and d of its matrices. */
export function startAudit(changed) {
  const box = find("audit");
  const take = async (file) => {
    if (!file) return;
    try {
      if (file.size > MOST_BYTES) throw new Error("it is larger than 20 MB");
      show(tablesIn(JSON.parse(await file.text())), changed);
    } catch (error) {
      find("audit-said").textContent = `${file.name} was not understood: ${error.message}. Give the output of recallscope audit FILE --json.`;
      find("audit-tables").replaceChildren();
    }
  };
  find("audit-file").addEventListener("change", (event) => take(event.target.files[0]));
  for (const name of ["dragover", "drop"]) box.addEventListener(name, (event) => event.preventDefault());
  box.addEventListener("drop", (event) => take(event.dataTransfer.files[0]));
}

/** The tables of an audit with all fields needed; unknown parts of the file are ignored. */
export function tablesIn(audit) {
  const checkpoints = Array.isArray(audit?.checkpoints) ? audit.checkpoints : [audit];
  const listed = checkpoints.flatMap((checkpoint) => checkpoint?.tables ?? []);
  const found = listed.filter((table) => table && size(table.dim) && size(table.used_rows ?? table.rows) && table.effective_dim);
  if (!found.length) throw new Error("it has no table with rows, dim and effective_dim");
  return found.map((table) => ({
    name: String(table.name ?? "table"),
    rows: table.used_rows ?? table.rows,
    dim: table.dim,
    raw: Number(table.effective_dim.raw),
    centred: Number(table.effective_dim.centred),
    facts: table.facts ?? null,
  }));
}

const size = (value) => Number.isInteger(value) && value > 0;

function show(tables, changed) {
  find("audit-said").textContent = `${tables.length} ${tables.length === 1 ? "table" : "tables"}. An effective dimension is that of random embeddings which overlap as much. Using it for d is approximate: the closed forms are for random embeddings, not for this matrix.`;
  find("audit-tables").replaceChildren(...tables.map((table) => tableBox(table, changed)));
}

function tableBox(table, changed) {
  const use = (how) => {
    const dim = Math.max(Math.round(table[how]), 1);
    const words = `d = ${whole(dim)} is the ${how} effective dimension of ${table.name} (V = ${whole(table.rows)}, d = ${whole(table.dim)}). Approximate: the answer is for random embeddings of that dimension, not for the matrix itself.`;
    return element(
      "button",
      { type: "button", onclick: () => changed({ vocab: table.rows, dim, embedding: "sphere" }, words) },
      `Use ${how}: d ≈ ${digits(table[how], 4)}`,
    );
  };
  const uses = ["raw", "centred"].filter((how) => table[how] > 0).map(use);
  return element(
    "div",
    { class: "audit-table" },
    element("b", {}, table.name),
    ` ${whole(table.rows)} rows of ${whole(table.dim)} dimensions. `,
    ...uses,
    table.facts ? element("details", {}, element("summary", {}, "Facts it could store, by the audit"), factsOf(table.facts)) : "",
  );
}

/** All that the audit says about facts, as a list. */
function factsOf(facts) {
  const lines = [];
  const walk = (value, path) => {
    if (value !== null && typeof value === "object") {
      for (const [name, inner] of Object.entries(value)) walk(inner, [...path, name]);
    } else if (lines.length < 60) lines.push(`${path.join(", ").replaceAll("_", " ")}: ${typeof value === "number" ? digits(value, 4) : value}`);
  };
  walk(facts, []);
  return element("ul", {}, ...lines.map((line) => element("li", {}, line)));
}
