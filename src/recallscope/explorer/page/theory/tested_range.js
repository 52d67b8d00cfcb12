// The sizes at which closed forms were compared with simulation, and what lies outside of them.

const EMBEDDINGS = ["sphere", "gaussian"];

/** What of a problem lies outside of the ranges that were tested; nothing, for most. */
export function extrapolated(problem, tested) {
  const { vocab, dim, length, width, activation, embedding } = problem;
  const sizes = { vocab, dim, length, "samples per fact": problem.samples / vocab, width };
  const found = outside(sizes, tested);
  if (!EMBEDDINGS.includes(embedding)) found.push(`embedding ${embedding}`);
  else if (dim >= vocab) found.push(`dim ${short(dim)} >= vocab ${short(vocab)}`);
  if (width !== null && activation === "identity") found.push("activation identity");
  return found;
}

/** The sizes that are not in their range, each with the end that it is beyond. */
export function outside(sizes, ranges) {
  return Object.entries(ranges).flatMap(([name, [smallest, largest]]) => {
    const size = sizes[name];
    if (size === null || size === undefined || (smallest <= size && size <= largest)) return [];
    return [`${name} ${short(size)} ${size < smallest ? `< ${smallest}` : `> ${largest}`}`];
  });
}

/** A size as it was given, or to six digits if it is not whole, as Python writes them. */
function short(size) {
  if (size === Infinity) return "inf";
  if (Number.isInteger(size)) return String(size);
  // Of a number that is half way, as few are, the even digit is taken; toExponential takes the upper.
  const power = Math.floor(Math.log10(size));
  const scaled = size * 10 ** (5 - power);
  const halfWay = scaled % 2 === 0.5 && Number.isInteger(size * 2 ** 20);
  const six = Number((halfWay ? size - 0.25 * 10 ** (power - 5) : size).toPrecision(6));
  if (power >= -4 && power < 6) return String(six);
  const [head, tens] = six.toExponential().split("e").map(Number);
  return `${head}e${tens < 0 ? "-" : "+"}${String(Math.abs(tens)).padStart(2, "0")}`;
}
