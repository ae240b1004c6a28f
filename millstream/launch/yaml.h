// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_LAUNCH_YAML_H_
#define MILLSTREAM_LAUNCH_YAML_H_

#include <nlohmann/json.hpp>
#include <string>

namespace millstream::launch {

// The value as a YAML document in block style, ending with a new line. REQUIRES: strings are UTF-8.
std::string ToYaml(const nlohmann::ordered_json& value);

}  // namespace millstream::launch

#endif  // MILLSTREAM_LAUNCH_YAML_H_
