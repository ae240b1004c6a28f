// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_HELD_FUNCTIONS_H_
#define MILLSTREAM_FRAMEWORK_HELD_FUNCTIONS_H_

#include <memory>

namespace millstream {

// A FunctionRunner that can tell whether something which outlives the session's steps still calls its functions: a
// resource of the task, such as an iterator, keeps what Hold() returns for as long as it keeps the pointer.
// Thread-safe.
class HeldFunctions {
 public:
  virtual ~HeldFunctions() = default;
  std::shared_ptr<const void> Hold() const { return token_; }
  bool is_held() const { return token_.use_count() > 1; }

 private:
  const std::shared_ptr<const int> token_ = std::make_shared<const int>(0);
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_HELD_FUNCTIONS_H_
