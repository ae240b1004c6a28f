// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_COLLECTIVES_COLLECTIVE_GROUP_H_
#define MILLSTREAM_TRAIN_COLLECTIVES_COLLECTIVE_GROUP_H_

#include <cstdint>
#include <vector>

#include "millstream/train/variables/variables.h"

namespace millstream {

// The workers that reduce and broadcast together, each of which builds the same graph for itself. Nodes that belong
// together have the same instance key, which is counted here: so all workers add them in the same order. One graph; not
// thread-safe.
class CollectiveGroup {
 public:
  explicit CollectiveGroup(int size, int32_t group_key = 1, int32_t first_instance_key = 1)
      : size_(size), group_key_(group_key), next_instance_key_(first_instance_key) {}

  int size() const { return size_; }

  // The mean of what the workers have, on the device of the scope. The mean of one is itself.
  Output Mean(const Scope& scope, Output value);
  // The rows of all, one worker's after the other's. The workers have tensors of the same shape.
  Output Gather(const Scope& scope, Output value);
  // The root's value. The others have no value of their own: they give its type and shape.
  Output SendToAll(const Scope& scope, Output value);
  Output ReceiveFromRoot(const Scope& scope, DType dtype, const PartialShape& shape);
  // A node after which the variables have the values that they have at the root.
  Node* Broadcast(const Scope& scope, const std::vector<GraphVariable>& variables, bool is_root);

 private:
  Output Add(const Scope& scope, const char* op, std::vector<Output> inputs, Attrs attrs);

  const int size_;
  const int32_t group_key_;
  int32_t next_instance_key_;
};

// Types that TensorFlow's ops can gather and broadcast.
bool CanGather(DType dtype);

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_COLLECTIVES_COLLECTIVE_GROUP_H_
