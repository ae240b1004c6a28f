// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_TESTING_STEPS_H_
#define MILLSTREAM_TRAIN_TESTING_STEPS_H_

#include <memory>
#include <string>
#include <vector>

#include "millstream/graph/scope.h"
#include "millstream/runtime/session.h"

namespace millstream {

// A new session with the graph of `scope`, in which `init` has run. Fails the test if something is wrong.
std::unique_ptr<Session> SessionOf(const Scope& scope, const Node* init = nullptr);

// One step that must work; values of the fetches.
std::vector<Tensor> RunStep(Session& session, const std::vector<Output>& fetches,
                            const std::vector<const Node*>& targets = {}, const Session::Feeds& feeds = {});
// The same for one value.
Tensor ValueOf(Session& session, Output fetch, const Session::Feeds& feeds = {});
std::vector<float> FloatsOf(Session& session, Output fetch);

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_TESTING_STEPS_H_
