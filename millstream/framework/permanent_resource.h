// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_PERMANENT_RESOURCE_H_
#define MILLSTREAM_FRAMEWORK_PERMANENT_RESOURCE_H_

#include "millstream/tensor/resource_handle.h"

namespace millstream {

// What a server puts among the resources of its graphs for its own use. It stays until the ResourceManager is gone:
// neither Session.reset() nor an op that destroys a resource by its name removes it.
class PermanentResource : public Resource {};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PERMANENT_RESOURCE_H_
