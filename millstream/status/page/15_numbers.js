// SPDX-License-Identifier: Apache-2.0
// Numbers, sizes, times and names as people read them.

const known = (n) => n !== null && n !== undefined;
function whole(n) { return known(n) ? Math.round(n).toLocaleString("en-US") : "–"; }
function number(n) {
  if (!known(n) || !Number.isFinite(n)) return "–";
  const a = Math.abs(n);
  if (a >= 1e9) return n.toExponential(1);
  if (a >= 1e6) return (n / 1e6).toFixed(a >= 1e7 ? 0 : 1) + "M";
  if (a >= 1e4) return (n / 1e3).toFixed(a >= 1e5 ? 0 : 1) + "k";
  if (a >= 100) return n.toFixed(0);
  if (a >= 10) return n.toFixed(1);
  if (a >= 1) return n.toFixed(2);
  if (a === 0) return "0";
  return a >= 0.001 ? n.toPrecision(3) : n.toExponential(1);
}
// JSON has no NaN and no infinity: the server writes null.
const value = (n) => (known(n) ? number(n) : "not finite");
function bytes(n) {
  if (!known(n)) return "–";
  const units = ["B", "KB", "MB", "GB", "TB"];
  let i = 0;
  while (n >= 1000 && i < units.length - 1) { n /= 1000; i++; }
  return (i === 0 || n >= 100 || Number.isInteger(n) ? n.toFixed(0) : n.toFixed(1)) + " " + units[i];
}
const rate = (n) => bytes(n) + "/s";
function seconds(s) {
  if (!known(s) || !Number.isFinite(s)) return "–";
  if (s < 1e-3) return (s * 1e6).toFixed(0) + " µs";
  if (s < 1) return (s * 1e3).toPrecision(3) + " ms";
  if (s < 90) return s.toFixed(s < 10 ? 1 : 0) + " s";
  if (s < 5400) return (s / 60).toFixed(0) + " min";
  return s < 172800 ? (s / 3600).toFixed(1) + " h" : (s / 86400).toFixed(0) + " days";
}
const clock = (t) => new Date(t * 1000).toLocaleTimeString("en-GB");
const plural = (n, word) => `${whole(n)} ${word}${n === 1 ? "" : "s"}`;

// "/job:worker/replica:0/task:1/device:CPU:0" as "worker 1 CPU:0".
function shortName(name) {
  const match = /^\/job:([^/]+)\/replica:\d+\/task:(\d+)(?:\/device:(.+))?$/.exec(name || "");
  return match ? match[1] + " " + match[2] + (match[3] ? " " + match[3] : "") : name || "–";
}
