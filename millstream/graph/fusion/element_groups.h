// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_FUSION_ELEMENT_GROUPS_H_
#define MILLSTREAM_GRAPH_FUSION_ELEMENT_GROUPS_H_

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "millstream/framework/element_ops.h"
#include "millstream/graph/fusion/run_conditions.h"
#include "millstream/graph/prune.h"
#include "millstream/graph/shape_refiner.h"

namespace millstream {

// Which devices run fused nodes.
class FusingDevices {
 public:
  bool Has(absl::string_view device) { return !TypeOf(device).empty(); }
  // Whether the node is on one of them, and the device has a kernel for it.
  bool CanRun(const Node& node);

 private:
  const std::string& TypeOf(absl::string_view device);  // "" if it is none

  absl::flat_hash_map<std::string, std::string> types_;
};

// Finds which nodes FuseElements() puts together.
class ElementGroups {
 public:
  // Each in an order in which it can run.
  using Group = std::vector<Node*>;

  explicit ElementGroups(const PrunedGraph& part);
  // `single_ops`: also where no op on elements reads the result of another.
  StatusOr<std::vector<Group>> Find(bool single_ops = false);

 private:
  using Consumers = std::vector<std::vector<Graph::Consumer>>;

  bool HasPairs();
  // Numbers of what is most likely the same at run time: shapes that are known, unknown sizes included, or outputs of
  // unknown rank whose shape nothing else is known to have.
  int ShapeNumber(const Output& output);
  PartialShape LikelyShape(const Output& output);
  bool GuessShape(const Node& node, bool broadcasts);
  int Number(std::string what);
  int Key(const Node& node, const Output& shaped);
  bool MayMove(const Node& node);
  bool IsCandidate(const Node& node);
  bool Fits(const Output& operand, const Output& to, bool broadcasts);
  void FindCandidates(const std::vector<Node*>& order);
  void CountInputs();

  void Ready(Node* node);
  void Finish(Node* node);
  void Gather(int key);
  bool Join(Node* node);
  bool IsConcatOfGroup(const Node& node);
  int FindRoot(int member);

  const PrunedGraph& part_;
  const Graph& graph_;
  ShapeRefiner shapes_;
  FusingDevices devices_;
  std::optional<RunConditions> conditions_;
  Consumers consumers_;
  std::vector<bool> kept_;                 // by id: a target of the step
  std::vector<int> shape_, key_;           // by id: of the result; of those that may be fused, the queue. -1: none
  std::vector<int> waits_for_, gathered_;  // by id: inputs to come; index in members_ while it is in the current gather
  absl::flat_hash_map<std::string, int> numbers_;
  absl::flat_hash_map<int, PartialShape> shape_of_;  // by number, where the rank is known
  std::deque<Node*> plain_;
  std::vector<std::deque<Node*>> ready_;  // by key
  std::deque<int> keys_;                  // that have ready nodes, in the order in which they got them
  int current_key_ = -1;
  Group members_;                 // of the current gather
  std::vector<int> root_, size_;  // union-find over members_
  std::vector<Group> groups_;
};

// Whether the axis of a split or concat, or the place of a slice, is a constant.
bool HasConstantPlaces(const Node& node, ElementRole role);
// Types whose elements are computed in fused nodes; places are of other types.
bool IsFusedType(DType type);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_FUSION_ELEMENT_GROUPS_H_
