// Lines of equal value over a grid.

/** Segments of the line where values cross a level, in units of columns and rows. */
export function contour(values, level) {
  const segments = [];
  for (let i = 0; i + 1 < values.length; i++) {
    for (let j = 0; j + 1 < values[i].length; j++) {
      const corners = [
        [j, i, values[i][j]],
        [j + 1, i, values[i][j + 1]],
        [j + 1, i + 1, values[i + 1][j + 1]],
        [j, i + 1, values[i + 1][j]],
      ];
      if (corners.some(([, , value]) => Number.isNaN(value))) continue;
      const crossings = [];
      corners.forEach(([x, y, here], k) => {
        const [toX, toY, there] = corners[(k + 1) % 4];
        if (here >= level === there >= level) return;
        const part = (level - here) / (there - here);
        crossings.push([x + part * (toX - x), y + part * (toY - y)]);
      });
      for (let k = 0; k + 1 < crossings.length; k += 2) segments.push([crossings[k], crossings[k + 1]]);
    }
  }
  return segments;
}

/** Segments joined to lines, for dashes to run along them. */
export function joined(segments) {
  const key = ([x, y]) => `${x.toFixed(6)} ${y.toFixed(6)}`;
  const at = new Map();
  segments.forEach((segment, i) => {
    for (const end of segment) at.set(key(end), [...(at.get(key(end)) ?? []), i]);
  });
  const used = new Set();
  const lines = [];
  const grow = (line) => {
    for (;;) {
      const tip = line[line.length - 1];
      const next = at.get(key(tip)).find((i) => !used.has(i));
      if (next === undefined) return line;
      used.add(next);
      const [a, b] = segments[next];
      line.push(key(a) === key(tip) ? b : a);
    }
  };
  segments.forEach((segment, i) => {
    if (used.has(i)) return;
    used.add(i);
    lines.push(grow(grow([...segment]).reverse()));
  });
  return lines;
}

/** A logit, which is straighter between cells than an accuracy. */
export function logit(share) {
  const inside = Math.min(Math.max(share, 1e-9), 1 - 1e-9);
  return Math.log(inside / (1 - inside));
}
