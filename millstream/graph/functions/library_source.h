// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_FUNCTIONS_LIBRARY_SOURCE_H_
#define MILLSTREAM_GRAPH_FUNCTIONS_LIBRARY_SOURCE_H_

#include <memory>

#include "millstream/graph/functions/function_library.h"

namespace millstream {

// A FunctionRunner whose library can be looked into: for kernels that write programs down, or are given some.
class LibrarySource {
 public:
  virtual ~LibrarySource() = default;
  virtual const std::shared_ptr<FunctionLibrary>& library() const = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_FUNCTIONS_LIBRARY_SOURCE_H_
