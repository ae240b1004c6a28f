// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/testing/goldens.h"

#include <cstdlib>
#include <fstream>

namespace millstream {

const nlohmann::json& OptimizerGoldens() {
  static const auto* goldens = [] {
    const char* source = std::getenv("MILLSTREAM_SOURCE_DIR");
    std::ifstream file(std::string(source == nullptr ? "." : source) + "/python/tests/data/optimizers.json");
    return new nlohmann::json(nlohmann::json::parse(file));
  }();
  return *goldens;
}

}  // namespace millstream
