// SPDX-License-Identifier: Apache-2.0
#include "cli/train/settings/optimizers.h"

#include <functional>
#include <map>

#include "absl/strings/str_join.h"
#include "millstream/train/optimizers/adagrad.h"
#include "millstream/train/optimizers/adam.h"
#include "millstream/train/optimizers/ftrl.h"
#include "millstream/train/optimizers/gradient_descent.h"
#include "millstream/train/optimizers/momentum.h"
#include "millstream/train/optimizers/rms_prop.h"

namespace millstream::cli {
namespace {

using Maker = std::function<std::shared_ptr<Optimizer>(double learning_rate)>;

const std::map<std::string, Maker>& Makers() {
  static const auto* makers = new std::map<std::string, Maker>{
      {"sgd", [](double rate) { return std::make_shared<GradientDescentOptimizer>(rate); }},
      {"momentum", [](double rate) { return std::make_shared<MomentumOptimizer>(rate, 0.9); }},
      {"adagrad", [](double rate) { return std::make_shared<AdagradOptimizer>(rate); }},
      {"adam", [](double rate) { return std::make_shared<AdamOptimizer>(rate); }},
      {"rmsprop", [](double rate) { return std::make_shared<RMSPropOptimizer>(rate); }},
      {"ftrl", [](double rate) { return std::make_shared<FtrlOptimizer>(rate); }},
  };
  return *makers;
}

}  // namespace

std::vector<std::string> OptimizerNames() {
  std::vector<std::string> names;
  for (const auto& [name, make] : Makers()) names.push_back(name);
  return names;
}

StatusOr<std::shared_ptr<Optimizer>> MakeOptimizer(const std::string& name, double learning_rate) {
  const auto found = Makers().find(name);
  if (found != Makers().end()) return found->second(learning_rate);
  return errors::InvalidArgument("there is no optimizer '", name, "' (", absl::StrJoin(OptimizerNames(), ", "), ")");
}

}  // namespace millstream::cli
