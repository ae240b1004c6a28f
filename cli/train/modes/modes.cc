// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "absl/strings/str_join.h"
#include "cli/train/modes/mode.h"
#include "millstream/train/optimizers/adagrad.h"
#include "millstream/train/optimizers/adam.h"
#include "millstream/train/optimizers/ftrl.h"
#include "millstream/train/optimizers/gradient_descent.h"
#include "millstream/train/optimizers/momentum.h"
#include "millstream/train/optimizers/rms_prop.h"

namespace millstream::cli {

extern const Mode kAsync, kSync, kDcAsgd;

namespace {

constexpr std::array<const Mode*, 3> kModes = {&kAsync, &kSync, &kDcAsgd};

}  // namespace

std::span<const Mode* const> AllModes() { return kModes; }

StatusOr<const Mode*> FindMode(const std::string& name) {
  std::vector<std::string> names;
  for (const Mode* mode : kModes) {
    if (name == mode->name) return mode;
    names.push_back(mode->name);
  }
  return errors::InvalidArgument("There is no mode '", name, "' (", absl::StrJoin(names, ", "), ")");
}

std::vector<std::string> OptimizerNames() { return {"sgd", "momentum", "adagrad", "adam", "rmsprop", "ftrl"}; }

StatusOr<std::shared_ptr<Optimizer>> MakeOptimizer(const std::string& name, double learning_rate) {
  if (name == "sgd") return std::make_shared<GradientDescentOptimizer>(learning_rate);
  if (name == "momentum") return std::make_shared<MomentumOptimizer>(learning_rate, 0.9);
  if (name == "adagrad") return std::make_shared<AdagradOptimizer>(learning_rate);
  if (name == "adam") return std::make_shared<AdamOptimizer>(learning_rate);
  if (name == "rmsprop") return std::make_shared<RMSPropOptimizer>(learning_rate);
  if (name == "ftrl") return std::make_shared<FtrlOptimizer>(learning_rate);
  return errors::InvalidArgument("There is no optimizer '", name, "' (", absl::StrJoin(OptimizerNames(), ", "), ")");
}

}  // namespace millstream::cli
