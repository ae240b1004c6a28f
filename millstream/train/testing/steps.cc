// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/testing/steps.h"

#include <gtest/gtest.h>

namespace millstream {

std::unique_ptr<Session> SessionOf(const Scope& scope, const Node* init) {
  EXPECT_TRUE(scope.ok()) << scope.status();
  StatusOr<std::unique_ptr<Session>> session = NewSession();
  EXPECT_TRUE(session.ok()) << session.status();
  const Status extended = (*session)->Extend(*scope.graph());
  EXPECT_TRUE(extended.ok()) << extended;
  if (init != nullptr) RunStep(**session, {}, {init});
  return *std::move(session);
}

std::vector<Tensor> RunStep(Session& session, const std::vector<Output>& fetches,
                            const std::vector<const Node*>& targets, const Session::Feeds& feeds) {
  std::vector<std::string> fetch_names, target_names;
  for (const Output& fetch : fetches) fetch_names.push_back(fetch.name());
  for (const Node* target : targets) target_names.push_back(target->name());
  std::vector<Tensor> out;
  const Status status = session.Run(feeds, fetch_names, target_names, &out);
  EXPECT_TRUE(status.ok()) << status;
  out.resize(fetches.size(), Tensor::Scalar(0.0f));
  return out;
}

Tensor ValueOf(Session& session, Output fetch, const Session::Feeds& feeds) {
  return RunStep(session, {fetch}, {}, feeds)[0];
}

std::vector<float> FloatsOf(Session& session, Output fetch) {
  const Tensor value = ValueOf(session, fetch);
  return {value.flat<float>().begin(), value.flat<float>().end()};
}

}  // namespace millstream
