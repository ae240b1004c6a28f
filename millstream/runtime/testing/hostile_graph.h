// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_RUNTIME_TESTING_HOSTILE_GRAPH_H_
#define MILLSTREAM_RUNTIME_TESTING_HOSTILE_GRAPH_H_

#include <functional>
#include <initializer_list>
#include <string>

#include "millstream/graph/scope.h"
#include "millstream/runtime/session.h"

// Programs that try to end the process that runs them. Each runs in a child process with little memory, so that one
// that succeeds ends the child and not the machine.
namespace millstream {

// What the process may use, and what its address space may grow to: a leak of the size of the limit ends the child.
inline constexpr int64_t kHostileMemoryLimit = int64_t{512} << 20;
inline constexpr int64_t kHostileAddressSpace = int64_t{6} << 30;

// Passes if attack() ends, with one of `codes` (any of them may be right where two limits are close to each other),
// and the process then still runs an ordinary session.
void ExpectSurvives(std::initializer_list<absl::StatusCode> codes, const std::function<Status()>& attack);

// Runs one step of a new session. `fetch` may be "": then nothing but `target` runs.
Status RunOnce(const Scope& s, const std::string& fetch, const std::string& target = "",
               const SessionOptions& options = {});
// The same for a program in text (GraphDef).
Status RunText(const std::string& graph, const std::string& fetch, const SessionOptions& options = {});

// Nodes of a function body or of a program, in text: "name: 'n' op: 'Neg' input: 'x' attr {...}".
std::string NodeInText(const std::string& name, const std::string& op, std::initializer_list<std::string> inputs,
                       const std::string& attrs = "");
// A function of one float that gives one float; `body` is text of its nodes, `result` the name of a value in it.
std::string FunctionInText(const std::string& name, const std::string& body, const std::string& result);

}  // namespace millstream

#endif  // MILLSTREAM_RUNTIME_TESTING_HOSTILE_GRAPH_H_
