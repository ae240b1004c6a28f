// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_REGISTRY_H_
#define MILLSTREAM_CLI_REGISTRY_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "cli/nearest_name.h"
#include "millstream/base/status.h"

namespace millstream::cli {

// Things of one kind (commands, models, training modes), each in a file of its own that registers it:
//
//   const Registration<Model> registration({.name = "mlp", .help = "...", .build = Build});
//
// No other file names it: flags, help, completion and the reference are made from what is registered. A T has a `name`
// and a static kKind for messages ("model"). Registries are filled before main() and are read-only afterwards.
template <typename T>
class Registry {
 public:
  // In the order of their names.
  static std::vector<const T*> All() {
    std::vector<const T*> all;
    for (const auto& [name, entry] : Entries()) all.push_back(&entry);
    return all;
  }

  static std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const auto& [name, entry] : Entries()) names.push_back(name);
    return names;
  }

  // InvalidArgument names those that there are.
  static StatusOr<const T*> Find(const std::string& name) {
    const auto found = Entries().find(name);
    if (found != Entries().end()) return &found->second;
    const std::vector<std::string> names = Names();
    return errors::InvalidArgument("there is no ", T::kKind, " '", name, "' (", absl::StrJoin(names, ", "), ")",
                                   DidYouMean(name, names));
  }

 private:
  template <typename>
  friend class Registration;

  static std::map<std::string, T>& Entries() {
    static auto* entries = new std::map<std::string, T>;
    return *entries;
  }
};

template <typename T>
class Registration {
 public:
  explicit Registration(T entry) {
    std::string name = entry.name;
    Registry<T>::Entries().emplace(std::move(name), std::move(entry));
  }
};

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_REGISTRY_H_
