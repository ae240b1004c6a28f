// SPDX-License-Identifier: Apache-2.0
// Lines over time.

function niceTicks(low, high, count) {
  const span = high - low || Math.abs(high) || 1;
  const raw = span / count;
  const unit = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map((m) => m * unit).find((s) => s >= raw);
  const ticks = [];
  for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + step * 1e-9; t += step) ticks.push(Math.abs(t) < step * 1e-9 ? 0 : t);
  return ticks;
}

function bounds(lines, fromZero) {
  let x0 = Infinity, x1 = -Infinity, y0 = fromZero ? 0 : Infinity, y1 = -Infinity;
  for (const line of lines) {
    for (const [x, y] of line.points) {
      x0 = Math.min(x0, x); x1 = Math.max(x1, x); y0 = Math.min(y0, y); y1 = Math.max(y1, y);
    }
  }
  if (x1 - x0 < 1) x0 = x1 - 1;
  if (!(y1 > y0)) { y1 = y0 + (Math.abs(y0) * 0.1 || 1); if (!fromZero) y0 -= Math.abs(y0) * 0.1; }
  const room = (y1 - y0) * 0.06;
  return {x0, x1, y0: fromZero ? 0 : y0 - room, y1: y1 + room};
}

// lines: [{name, colour, points: [[time, value], ...]}]
function chart(box, lines, {format = number, fromZero = false, height = 170} = {}) {
  lines = lines.filter((line) => line.points.length > 0);
  if (lines.length === 0) return box.replaceChildren(h("p", {class: "none"}, "Nothing yet."));
  const width = Math.max(200, box.clientWidth || 320);
  const b = bounds(lines, fromZero);
  const pad = {left: 54, right: 8, top: 6, bottom: 20};
  const x = (t) => pad.left + (t - b.x0) / (b.x1 - b.x0) * (width - pad.left - pad.right);
  const y = (n) => height - pad.bottom - (n - b.y0) / (b.y1 - b.y0) * (height - pad.top - pad.bottom);
  const svg = v("svg", {viewBox: `0 0 ${width} ${height}`, width, height, role: "img"});
  for (const tick of niceTicks(b.y0, b.y1, 4)) {
    svg.append(v("line", {class: "grid", x1: pad.left, x2: width - pad.right, y1: y(tick), y2: y(tick)}),
               v("text", {x: pad.left - 7, y: y(tick) + 4, "text-anchor": "end"}, format(tick)));
  }
  const times = width > 420 ? [0.08, 0.5, 0.92] : [0.12, 0.88];
  for (const part of times) {
    const t = b.x0 + part * (b.x1 - b.x0);
    svg.append(v("text", {x: x(t), y: height - 4, "text-anchor": "middle"}, clock(t)));
  }
  for (const line of lines) {
    const path = line.points.map(([t, n], i) => (i ? "L" : "M") + x(t).toFixed(1) + " " + y(n).toFixed(1)).join("");
    svg.append(styled(v("path", {class: "series", d: path}), {stroke: line.colour}));
    if (line.points.length === 1) svg.append(styled(v("circle", {cx: x(line.points[0][0]), cy: y(line.points[0][1]), r: 3}), {fill: line.colour}));
  }
  hover(svg, lines, {b, x, y, width, height, pad, format});
  const legend = lines.length < 2 ? null : h("div", {class: "legend"}, lines.slice(0, 12).map((line) =>
    h("span", null, styled(h("i"), {background: line.colour}), line.name)), lines.length > 12 ? h("span", null, `and ${lines.length - 12} more`) : null);
  box.replaceChildren(svg);
  if (legend) box.append(legend);
}

function hover(svg, lines, c) {
  const cross = v("line", {class: "cross", y1: c.pad.top, y2: c.height - c.pad.bottom, visibility: "hidden"});
  svg.append(cross);
  svg.addEventListener("pointermove", (event) => {
    const at = svg.getBoundingClientRect();
    const t = c.b.x0 + ((event.clientX - at.left) * c.width / at.width - c.pad.left) / (c.width - c.pad.left - c.pad.right) * (c.b.x1 - c.b.x0);
    const rows = lines.map((line) => {
      const nearest = line.points.reduce((best, p) => (Math.abs(p[0] - t) < Math.abs(best[0] - t) ? p : best));
      return {line, nearest};
    });
    const first = rows[0].nearest[0];
    cross.setAttribute("x1", c.x(first));
    cross.setAttribute("x2", c.x(first));
    cross.setAttribute("visibility", "visible");
    showTip(event, clock(first) + "\n" + rows.slice(0, 12).map(({line, nearest}) =>
      (line.name ? line.name + ": " : "") + c.format(nearest[1]) + (nearest[2] ? ` (step ${whole(nearest[2])})` : "")).join("\n"));
  });
  svg.addEventListener("pointerleave", () => { cross.setAttribute("visibility", "hidden"); hideTip(); });
}
