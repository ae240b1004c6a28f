// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TESTS_TWINS_PROGRAM_H_
#define MILLSTREAM_TESTS_TWINS_PROGRAM_H_

#include <functional>
#include <string>
#include <vector>

#include "millstream/graph/scope.h"

namespace millstream::twins {

// A program that builds a graph, with the same name and the same graph as its twin in tests/twins/programs/*.py.
struct Program {
  std::string name;  // without its topic
  std::function<void(const Scope& root)> build;
};
using Programs = std::vector<Program>;

// The topics.
Programs AllReducePrograms();
Programs BatchNormalizationPrograms();
Programs EmbeddingPrograms();
Programs InputPrograms();
Programs LayerPrograms();
Programs LossPrograms();
Programs MetricPrograms();
Programs OptimizerPrograms();
Programs RatePrograms();
Programs RnnPrograms();
Programs SessionPrograms();
Programs TrainModePrograms();

// A placeholder of that name.
Output Placeholder(const Scope& s, const char* name, PartialShape shape, DType dtype = DType::kFloat);
// tf.nn.l2_loss(), a loss of one node.
inline Output L2Loss(const Scope& s, Output x) { return s.Op("L2Loss", {x}); }
// A loss of "w", "b" with dense gradients and "table" with a sparse one: optimizers.py's model().
Output SmallModel(const Scope& s, bool resource = false);

}  // namespace millstream::twins

#endif  // MILLSTREAM_TESTS_TWINS_PROGRAM_H_
