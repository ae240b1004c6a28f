// SPDX-License-Identifier: Apache-2.0
// From values to places in a chart: ranges, ticks, smoothing.

function niceTicks(low, high, count) {
  const span = high - low || Math.abs(high) || 1;
  const raw = span / count;
  const unit = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map((m) => m * unit).find((s) => s >= raw);
  const ticks = [];
  for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + step * 1e-9 && ticks.length < 50; t += step) ticks.push(Math.abs(t) < step * 1e-9 ? 0 : t);
  return ticks;
}

// Powers of ten; with few of them, 2 and 5 times these as well.
function logTicks(low, high) {
  const ticks = [], decades = Math.log10(high / low), stride = Math.max(1, Math.ceil(decades / 5));
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e += stride) {
    for (const m of decades < 2.5 ? [1, 2, 5] : [1]) ticks.push(m * Math.pow(10, e));
  }
  const inside = ticks.filter((t) => t >= low && t <= high);
  return inside.length > 1 ? inside : niceTicks(low, high, 3);
}

// A running mean that forgets: `weight` of the past, the rest of the new. Without the bias towards its first value.
function smoothed(points, weight) {
  let mean = 0, part = 1;
  return points.map(([x, y, ...rest]) => {
    if (!known(y)) return [x, y, ...rest];
    mean = weight * mean + (1 - weight) * y;
    part *= weight;
    return [x, mean / (1 - part), ...rest];
  });
}

// As many points as can be told apart on the screen: the lowest and the highest of each piece, and the last.
function thinForScreen(points, pieces) {
  if (points.length <= 2 * pieces) return points;
  const kept = [], size = points.length / pieces;
  for (let i = 0; i < pieces; i++) {
    const piece = points.slice(Math.floor(i * size), Math.floor((i + 1) * size)), numbers = piece.filter((p) => known(p[1]));
    const gap = piece.find((p) => !known(p[1]));
    const low = numbers.reduce((a, b) => (b[1] < a[1] ? b : a), numbers[0]), high = numbers.reduce((a, b) => (b[1] > a[1] ? b : a), numbers[0]);
    kept.push(...new Set([low, high, gap].filter(Boolean)));
  }
  kept.push(points[points.length - 1]);
  return kept.sort((a, b) => a[0] - b[0]);
}

function bounds(lines, {fromZero, log}) {
  let x0 = Infinity, x1 = -Infinity, y0 = Infinity, y1 = -Infinity;
  for (const line of lines) {
    for (const [x, y] of line.points) {
      x0 = Math.min(x0, x); x1 = Math.max(x1, x);
      if (known(y) && (!log || y > 0)) { y0 = Math.min(y0, y); y1 = Math.max(y1, y); }
    }
  }
  if (!Number.isFinite(y0)) { y0 = log ? 0.1 : 0; y1 = 1; }
  if (fromZero) y0 = Math.min(0, y0);
  if (x1 - x0 < 1) x0 = x1 - 1;
  if (!(y1 > y0)) { const room = Math.abs(y0) * 0.1 || 1; y1 = y0 + room; if (!fromZero) y0 -= log ? room / 2 : room; }
  if (log) { const room = Math.pow(y1 / y0, 0.05); return {x0, x1, y0: y0 / room, y1: y1 * room}; }
  const room = (y1 - y0) * 0.06;
  return {x0, x1, y0: fromZero && y0 === 0 ? 0 : y0 - room, y1: y1 + room};
}
