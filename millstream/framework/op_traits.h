// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_OP_TRAITS_H_
#define MILLSTREAM_FRAMEWORK_OP_TRAITS_H_

#include <cstdint>

namespace millstream {

// What executors, placer and rewrites ask of an op; declared where the op is defined (op.h), so that none of them has
// to know ops by name. A set of bits; the highest eight are the op's kind.
enum class OpTrait : uint32_t {
  // Writes a variable that other nodes may read in the same step. Runs after them where the graph leaves it open,
  // since an update that finds a reader must copy.
  kUpdates = 1 << 0,
  // Its kernel may hold its thread for long: it runs code of the user, calls a function, or reads or writes files.
  kMayBlock = 1 << 1,
  // Stateful for its effects alone: the kernel keeps nothing between runs, so a copy of the node does the same.
  kEffectsOnly = 1 << 2,
  // Output 0 is input 0, unchanged.
  kPassesInput = 1 << 3,
  // Its kernel never touches the elements of tensors, so that of the CPU serves every device. What has to be in host
  // memory all the same (predicates, shapes, what functions are called with) is declared by HostMemory().
  kAnyDevice = 1 << 4,
  // Passes tensors on, perhaps with another shape, or tells their shapes: the kernel touches no elements and does
  // nothing else.
  kMetadataOnly = 1 << 5,
  // Of an op that updates a variable: gives it a new value whatever the old one was.
  kOverwrites = 1 << 6,
  // Reads elements of the variable whose handle is an input.
  kReadsVariable = 1 << 7,
  // Its result is made of what all members of a group of workers bring; it fails when one of them is lost.
  kReducesOverGroup = 1 << 8,
};

// For OpBuilder::HostMemory(): every argument and result.
inline constexpr char kAllArgs[] = "*";

// The ops that graphs are made of, whatever is computed: importers, passes, partitioning and executors handle these
// themselves. Everything else is kPlain. Twins for references (RefSwitch) and without state (StatelessIf) are of the
// kind of the op whose twin they are.
enum class OpKind : uint8_t {
  kPlain,
  kConst,
  kPlaceholder,
  kVariable,  // a reference or a handle to a variable
  kIdentity,
  kNoOp,
  kArg,     // an argument of the function body, or of the part of a graph, that it is in
  kRetval,  // a result of it
  kSend,    // this and the next two: ends of an edge that was cut between tasks
  kLoopSend,
  kRecv,
  kCopyToDevice,  // this and the next: copies between host memory and a device's
  kCopyToHost,
  kSwitch,  // from here to kNextIteration: decide which nodes run, and how often
  kSwitchN,
  kMerge,
  kEnter,
  kExit,
  kNextIteration,
  kLoopCond,
  kControlTrigger,
  kStackPush,  // this and the next: how gradients of loops get values of the loop
  kStackPop,
  kCall,  // from here on: call functions
  kRemoteCall,
  kIf,
  kCase,
  kWhile,
};

// The trait that says of which kind an op is: OP("Merge").Trait(KindTrait(OpKind::kMerge)).
constexpr OpTrait KindTrait(OpKind kind) { return static_cast<OpTrait>(static_cast<uint32_t>(kind) << 24); }
constexpr OpKind KindOf(uint32_t traits) { return static_cast<OpKind>(traits >> 24); }

constexpr bool IsControlFlow(OpKind kind) { return kind >= OpKind::kSwitch && kind <= OpKind::kNextIteration; }

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OP_TRAITS_H_
