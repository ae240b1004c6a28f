// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TESTS_GOLDEN_ENGINE_H_
#define MILLSTREAM_TESTS_GOLDEN_ENGINE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "millstream/graph/graph.h"

namespace millstream {

// What golden cases run on: a graph, run node by node in the calling thread.
class GoldenEngine {
 public:
  using Feeds = std::map<std::string, Tensor>;

  explicit GoldenEngine(std::shared_ptr<Graph> graph) : graph_(std::move(graph)) {}
  Status Run(const Feeds& feeds, const std::vector<std::string>& fetches, const std::vector<std::string>& targets,
             std::vector<Tensor>* outputs);

 private:
  using Values = std::map<const Node*, std::vector<Tensor>>;
  StatusOr<Tensor> Value(const Output& output, const Feeds& feeds, Values* values) const;
  Status RunNode(const Node& node, const Feeds& feeds, Values* values) const;

  const std::shared_ptr<Graph> graph_;
};

}  // namespace millstream

#endif  // MILLSTREAM_TESTS_GOLDEN_ENGINE_H_
