// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TESTS_GOLDEN_CASE_H_
#define MILLSTREAM_TESTS_GOLDEN_CASE_H_

#include <string>
#include <vector>

#include "millstream/base/status.h"
#include "millstream/proto/master.pb.h"
#include "millstream/proto/meta_graph.pb.h"

namespace millstream {

// One recorded case; tests/goldens/README.md says what is where in the message.
struct GoldenCase {
  struct Step {
    proto::RunStepRequest request;
    proto::RunStepResponse expected;
  };

  std::string family;  // folder below tests/goldens
  std::string file;    // "math/add": its file below tests/goldens, without the suffix
  std::string name;    // "AddV2_broadcast_float": the op, then what is special
  proto::MetaGraphDef meta;

  const proto::GraphDef& graph() const { return meta.graph_def(); }
  bool HasOption(const std::string& option) const;
  // "steps" or "gradient_steps", in order.
  std::vector<Step> Steps(const std::string& collection) const;
  // Types of all nodes, those in functions too, sorted.
  std::vector<std::string> NodeTypes() const;
};

// All cases below tests/goldens, read once. Ends the program with a message if a file cannot be read.
const std::vector<GoldenCase>& AllGoldenCases();

}  // namespace millstream

#endif  // MILLSTREAM_TESTS_GOLDEN_CASE_H_
