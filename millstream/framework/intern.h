// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_INTERN_H_
#define MILLSTREAM_FRAMEWORK_INTERN_H_

#include "millstream/base/status.h"

namespace millstream {

// Interned strings are never forgotten. ResourceExhausted if `s` is not one of them yet and clients have made the
// process keep too many already: asked before names from outside (attributes, devices) become part of a graph.
// Thread-safe.
Status CheckMayIntern(absl::string_view s);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_INTERN_H_
