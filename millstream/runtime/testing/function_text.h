// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_TESTING_FUNCTION_TEXT_H_
#define MILLSTREAM_RUNTIME_TESTING_FUNCTION_TEXT_H_

#include <set>
#include <string>
#include <vector>

#include "millstream/graph/scope.h"
#include "millstream/proto/function.pb.h"
#include "millstream/runtime/session.h"

// Small functions written down as text, and sessions that run graphs with them.
namespace millstream {

struct NodeText {
  std::string name, op;
  std::vector<std::string> inputs;
};

// A function of floats; an argument whose name begins with "h" is a resource. Constants are 7.
proto::FunctionDef MakeFunction(const std::string& name, const std::vector<std::string>& args,
                                const std::vector<NodeText>& nodes, const std::string& result,
                                proto::DataType result_type = proto::DT_FLOAT);

struct GraphResult {
  Status status;
  std::vector<float> values;
  std::set<std::string> ran;  // names of nodes
};

// The fetches of a new session, after a step for each of `first`.
GraphResult RunInSession(const Scope& s, const SessionOptions& options, const Session::Feeds& feeds,
                         const std::vector<std::string>& fetches, const std::vector<std::string>& first = {});

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_TESTING_FUNCTION_TEXT_H_
