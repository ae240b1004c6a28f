// SPDX-License-Identifier: Apache-2.0
// The graph of a session as boxes: a scope is one box until it is opened. Nodes that only help (they save, initialize, report, or keep
// gradients' books) are folded away by kind. Names that differ by a number share a box.

const graph = {data: null, open: new Set(), shown: new Set(), kinds: []};
const kMaxBoxes = 160;

const kBookkeepingOps = new Set(("Shape ShapeN Size Rank Const Fill Identity NoOp BroadcastGradientArgs ZerosLike OnesLike Reshape Cast Range Maximum "
  + "FloorMod FloorDiv DynamicStitch ConcatOffset InvertPermutation").split(" "));
const kHelpers = [
  ["saving", "Nodes that save and restore checkpoints.", (name, op) =>
    /(^|\/)save(_\d+)?\//.test(name) || /^(Save|Restore|MergeV2Checkpoints|ShardedFilename)/.test(op)],
  ["initialization", "Nodes that give variables their first values.", (name, op) =>
    /\/(Initializer|initial_value|IsInitialized)(\/|$)|\/Assign(_\d+)?$/.test(name)
    || /^(init|init_all_tables|group_deps|local_init)[^/]*(\/|$)/.test(name) || /IsInitialized|IsVariableInitialized|InitializeTable/.test(op)],
  ["reports", "Summaries, and lists of what is not initialized yet.", (name, op) =>
    /(^|\/)report_uninitialized/.test(name) || /Summary(V2)?$/.test(op)],
  ["gradient bookkeeping", "Shapes, constants and control nodes that gradients need beside their arithmetic.", (name, op) =>
    /(^|\/)gradients?(_\d+)?\//.test(name) && kBookkeepingOps.has(op)],
];

// For each node the number of the kind of helper that it is; -1: none.
function kindsOf(data) {
  return data.nodes.map(([name, op]) => kHelpers.findIndex(([, , is]) => is(name, data.ops[op] || "")));
}
const folded = (node) => graph.kinds[node] >= 0 && !graph.shown.has(graph.kinds[node]);

function boxOf(name) {
  const parts = name.split("/");
  let path = parts[0];
  for (let i = 1; i < parts.length; i++) {
    if (!graph.open.has(path)) return {key: path, scope: true};
    path += "/" + parts[i];
  }
  return {key: path.replace(/_\d+$/, ""), scope: false};
}

// Edges between nodes that are shown. What reaches a node through folded books of gradients still reaches it.
function shownEdges() {
  const into = new Map(), kBooks = kHelpers.length - 1, edges = [];
  for (const [from, to] of graph.data.edges) {
    if (graph.kinds[to] === kBooks && folded(to)) into.set(to, [...(into.get(to) || []), from]);
  }
  const sources = (node) => {
    const found = new Set(), seen = new Set(), stack = [node];
    while (stack.length > 0 && seen.size < 64) {
      const at = stack.pop();
      if (seen.has(at)) continue;
      seen.add(at);
      if (!folded(at)) found.add(at);
      else stack.push(...(into.get(at) || []));
    }
    return found;
  };
  for (const [from, to, control] of graph.data.edges) {
    if (!folded(to)) for (const source of folded(from) ? sources(from) : [from]) edges.push([source, to, control]);
  }
  return edges;
}

function makeBoxes() {
  const boxes = new Map(), ofNode = [];
  graph.data.nodes.forEach(([name, op, device], i) => {
    if (folded(i)) return;
    const {key, scope} = boxOf(name), id = (scope ? "s:" : "n:") + key;
    if (!boxes.has(id)) boxes.set(id, {id, key, scope, count: 0, devices: new Map(), ops: new Map(), out: new Map(), into: new Set()});
    const box = boxes.get(id);
    box.count++;
    box.devices.set(device, (box.devices.get(device) || 0) + 1);
    box.ops.set(op, (box.ops.get(op) || 0) + 1);
    ofNode[i] = box;
  });
  const shown = new Set([...boxes.values()].sort((a, b) => b.count - a.count).slice(0, kMaxBoxes));
  for (const [from, to] of shownEdges()) {
    const a = ofNode[from], b = ofNode[to];
    if (a === b || !shown.has(a) || !shown.has(b)) continue;
    const edge = a.out.get(b) || {count: 0, cut: 0};
    edge.count++;
    if (graph.data.nodes[from][2] !== graph.data.nodes[to][2]) edge.cut++;
    a.out.set(b, edge);
    b.into.add(a);
  }
  return {boxes: [...shown], hidden: boxes.size - shown.size};
}

// Rows from top to bottom: a box below all that it needs; edges that would go back (loops) do not count.
function rowsOf(boxes) {
  const state = new Map(), order = [];
  const visit = (start) => {
    const stack = [[start, [...start.out.keys()]]];
    state.set(start, 1);
    while (stack.length > 0) {
      const [box, next] = stack[stack.length - 1];
      const to = next.pop();
      if (!to) { state.set(box, 2); order.push(box); stack.pop(); continue; }
      if (state.get(to) === 1) { box.back = box.back || new Set(); box.back.add(to); continue; }
      if (!state.has(to)) { state.set(to, 1); stack.push([to, [...to.out.keys()]]); }
    }
  };
  for (const box of [...boxes].sort((a, b) => a.into.size - b.into.size)) if (!state.has(box)) visit(box);
  for (const box of boxes) box.row = 0;
  for (const box of order.reverse()) {
    for (const to of box.out.keys()) if (!(box.back && box.back.has(to))) to.row = Math.max(to.row, box.row + 1);
  }
  // What needs nothing stands just above the first that needs it; what is joined to nothing, at the end.
  const last = Math.max(0, ...boxes.map((b) => b.row)) + 1;
  for (const box of boxes) {
    if (box.into.size === 0) box.row = box.out.size === 0 ? last : Math.max(0, Math.min(...[...box.out.keys()].map((b) => b.row)) - 1);
  }
  const rows = [];
  for (const box of boxes) (rows[box.row] = rows[box.row] || []).push(box);
  return [...rows].filter((row) => row && row.length > 0);
}

// Rows that would be too wide to look at are broken.
function breakRows(rows) {
  const broken = [];
  for (const row of rows) {
    const pieces = Math.ceil(row.length / 12), size = Math.ceil(row.length / pieces);
    for (let i = 0; i < row.length; i += size) broken.push(row.slice(i, i + size));
  }
  return broken;
}

// Neighbours near each other: every box goes to the middle of what it is joined to, a few times over.
function arrange(rows) {
  rows.forEach((row) => row.forEach((box, i) => { box.place = i - row.length / 2; }));
  for (let turn = 0; turn < 6; turn++) {
    for (const row of turn % 2 ? [...rows].reverse() : rows) {
      for (const box of row) {
        const near = turn % 2 ? [...box.out.keys()] : [...box.into];
        box.wish = near.length > 0 ? near.reduce((sum, n) => sum + n.place, 0) / near.length : box.place;
      }
      row.sort((a, b) => a.wish - b.wish).forEach((box, i) => { box.place = i - row.length / 2; });
    }
  }
}
