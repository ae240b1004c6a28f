// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TESTS_GOLDEN_ENGINE_H_
#define MILLSTREAM_TESTS_GOLDEN_ENGINE_H_

#include <map>
#include <string>
#include <vector>

#include "millstream/proto/graph.pb.h"
#include "millstream/tensor/tensor.h"

namespace millstream {

// What golden cases run on: a graph, and steps with state between them.
class GoldenEngine {
 public:
  using Feeds = std::map<std::string, Tensor>;

  Status Create(const proto::GraphDef& graph);
  Status Run(const Feeds& feeds, const std::vector<std::string>& fetches, const std::vector<std::string>& targets,
             std::vector<Tensor>* outputs);

 private:
  using Values = std::map<std::string, std::vector<Tensor>>;
  StatusOr<Tensor> Output(const std::string& name, const Feeds& feeds, Values* values) const;
  Status RunNode(const std::string& name, const Feeds& feeds, Values* values) const;

  std::map<std::string, proto::NodeDef> nodes_;
};

}  // namespace millstream

#endif  // MILLSTREAM_TESTS_GOLDEN_ENGINE_H_
