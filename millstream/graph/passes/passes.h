// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_PASSES_PASSES_H_
#define MILLSTREAM_GRAPH_PASSES_PASSES_H_

#include "millstream/graph/prune.h"

// Rewrites of the part of a graph that a signature runs, one in each file. None changes results beyond rounding; each
// may be left out. They keep `args` and `targets` as nodes (a target that was a call becomes what ends its body), may
// redirect `rets`, never touch stateful nodes or control flow, and leave nodes behind that nobody uses: RemoveUnused()
// drops those. All are linear in nodes and edges.
namespace millstream {

// Which rewrites to make.
struct RewriteOptions {
  bool constant_folding = true;
  bool common_subexpressions = true;
  bool arithmetic = true;
  bool fusion = true;
  bool function_inlining = true;

  static RewriteOptions None() { return {false, false, false, false, false}; }
};

// All of them, in a good order, after ReadReferencesLate().
Status RewriteGraph(const RewriteOptions& options, PrunedGraph* part);

// Not a matter of choice: a reader of a reference variable sees the value at the time it runs, not at the time when the
// Identity in front of it ("v/read") ran. TensorFlow hands on the variable's own memory there, and programs that read
// after an update (SyncReplicasOptimizer's tokens) rely on it. Reads of other tasks or devices stay as they are: those
// are copies.
void ReadReferencesLate(PrunedGraph* part);

// Puts the bodies of functions where they are called. A call stays if the function forbids it (_noinline), if its body
// has kernels with state of their own (which all calls share) or asks for another device, and where bodies grow too
// much. REQUIRES: nodes have devices.
Status InlineFunctions(PrunedGraph* part);
// Computes once what depends on constants only.
Status FoldConstants(PrunedGraph* part);
// Computes equal things once.
Status MergeCommonSubexpressions(PrunedGraph* part);
// Drops what does nothing: Identity, x * 1, Reshape of Reshape, ...
Status SimplifyArithmetic(PrunedGraph* part);
// MatMul or Conv2D + BiasAdd, or a sum with a vector that does the same, (+ Relu) in one kernel.
Status FuseBias(PrunedGraph* part);
// Batch normalization (+ the sum with another image) + Relu or Relu6 in one kernel on the CPU, their gradients too.
Status FuseBatchNorm(PrunedGraph* part);
// Gathers of rows of a reference variable read it under its lock, not from a snapshot of the whole variable, which an
// update that runs meanwhile would have to copy. REQUIRES: nodes have devices; ReadReferencesLate() has run.
Status GatherFromReferences(PrunedGraph* part);
// Drops nodes that no result and no target needs; renumbers the rest.
void RemoveUnused(PrunedGraph* part);

// Not a matter of choice either, and the last of all: variables are updated when all reductions over a group that
// updates wait for have ended. So a step that a lost worker ends has updated all of these variables or none
// (docs/adr/0045). The node that the updates wait for has kCommitsStepAttr: when it has run, the step is not stopped
// any more. Loops stay as they are.
Status UpdateAfterReductions(PrunedGraph* part);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_PASSES_PASSES_H_
