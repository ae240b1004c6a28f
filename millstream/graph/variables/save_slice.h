// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_VARIABLES_SAVE_SLICE_H_
#define MILLSTREAM_GRAPH_VARIABLES_SAVE_SLICE_H_

#include <optional>
#include <string>
#include <vector>

#include "millstream/graph/graph.h"

namespace millstream {

// What a variable is a slice of: its place in checkpoints. It is kept with the variable's node, as the attribute
// kSaveSliceAttr, which stays in this process: a MetaGraph has it in the VariableDef, a GraphDef has it not.
inline constexpr char kSaveSliceAttr[] = "_save_slice";
struct SaveSlice {
  std::string full_name;
  std::vector<int64_t> full_shape, offset, shape;

  // As checkpoints write it: the whole shape, then start and length of each dimension: "10 4 0,5:0,4".
  std::string Spec() const;
};

void SetSaveSlice(Node* variable, const SaveSlice& slice);
// None for a whole variable, and where the attribute is not as SetSaveSlice() writes it.
std::optional<SaveSlice> SaveSliceOf(const Node& variable);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_VARIABLES_SAVE_SLICE_H_
