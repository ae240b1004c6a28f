// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_COLLECTIVE_BACKEND_H_
#define MILLSTREAM_COLLECTIVE_BACKEND_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "millstream/collective/algorithms/algorithm.h"
#include "millstream/collective/algorithms/reduce.h"

namespace millstream::collective {

// Collectives of another library, Open MPI or Gloo, which a group runs in place of its own algorithms
// (Group::UseBackend()). Each is a shared library of its own beside ours, built where its packages are installed and
// loaded when it is asked for, so that nobody else depends on them. What a back end cannot do, the group does itself.
//
// Called by one thread at a time. After an error it is not used again.
class Backend {
 public:
  // Asked often during a wait: an error ends it, and is returned.
  using Stop = std::function<Status()>;
  virtual ~Backend() = default;

  virtual const char* name() const = 0;
  // What the other ranks have to know of this one.
  virtual StatusOr<std::string> Address(int rank, int ranks) = 0;
  // The addresses of all ranks. A collective call.
  virtual Status Join(std::span<const std::string> addresses, const Stop& stop) = 0;
  // Whether it reduces such arrays; the same at all ranks.
  virtual bool CanReduceArrays(DType dtype, ReduceOp op, int64_t count) const = 0;
  // Whether it moves so many bytes, of all ranks together; the same at all ranks.
  virtual bool CanMove(size_t bytes) const = 0;

  // As those of Group. kMean adds: the group divides.
  virtual Status AllReduce(void* data, int64_t count, DType dtype, ReduceOp op, const Stop& stop) = 0;
  virtual Status AllGather(void* data, std::span<const size_t> bytes, const Stop& stop) = 0;
  virtual Status Broadcast(void* data, size_t bytes, int root, const Stop& stop) = 0;
  virtual Status Barrier(const Stop& stop) = 0;
};

// "mpi" or "gloo". FailedPrecondition where it was not built: the message says which packages it needs.
StatusOr<std::unique_ptr<Backend>> MakeBackend(const std::string& name);

// A back end's library defines this function, and no other name that others see.
inline constexpr char kMakeBackendSymbol[] = "MillstreamMakeBackend";
using MakeBackendFunction = Backend* (*)();

}  // namespace millstream::collective

#endif  // MILLSTREAM_COLLECTIVE_BACKEND_H_
