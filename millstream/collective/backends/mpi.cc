// SPDX-License-Identifier: Apache-2.0
// Collectives by Open MPI, between processes that mpirun or srun has started.
#include <mpi.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "millstream/base/status.h"
#include "millstream/base/thread_policy.h"
#include "millstream/collective/backend.h"

namespace millstream::collective {
namespace {

constexpr int64_t kLookNanos = 1'000'000;
constexpr int kLooks = 64;
constexpr auto kPause = std::chrono::microseconds(200);  // between two looks of a long wait

// A request was given up: MPI may still write into its memory, but only while it is called. Nobody calls it any more.
std::atomic<bool> given_up{false};

// MPI is ended with the process, if it was begun here.
Status BeginMpi() {
  static std::once_flag once;
  static int level = MPI_THREAD_SINGLE;
  std::call_once(once, [] {
    int initialized = 0;
    MPI_Initialized(&initialized);
    if (initialized != 0) {
      MPI_Query_thread(&level);
      return;
    }
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
    std::atexit([] {
      if (!given_up.load()) MPI_Finalize();
    });
  });
  if (given_up.load()) return errors::FailedPrecondition("Open MPI is not used again after a failure");
  if (level == MPI_THREAD_MULTIPLE) return OkStatus();
  return errors::FailedPrecondition("Open MPI was started without MPI_THREAD_MULTIPLE");
}

// MPI_DATATYPE_NULL: not a type of MPI.
MPI_Datatype TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return MPI_FLOAT;
    case DType::kDouble:
      return MPI_DOUBLE;
    case DType::kInt32:
      return MPI_INT32_T;
    case DType::kInt64:
      return MPI_INT64_T;
    default:
      return MPI_DATATYPE_NULL;
  }
}

MPI_Op OpOf(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kMean:
      return MPI_SUM;
    case ReduceOp::kProduct:
      return MPI_PROD;
    default:
      return MPI_OP_NULL;  // kMin and kMax: what NaN gives is not defined there
  }
}

class MpiBackend final : public Backend {
 public:
  // The communicator stays: freeing it would be a collective call.
  ~MpiBackend() override = default;

  const char* name() const override { return "mpi"; }

  StatusOr<std::string> Address(int /*rank*/, int ranks) override {
    RETURN_IF_ERROR(BeginMpi());
    int own = 0, all = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    if (all < ranks) {
      return errors::FailedPrecondition("Open MPI has ", all, " processes, the group ", ranks,
                                        " ranks: start them by mpirun or srun");
    }
    static std::atomic<int> groups{0};
    const int address[2] = {own, groups.fetch_add(1)};
    return std::string(reinterpret_cast<const char*>(address), sizeof(address));
  }

  Status Join(std::span<const std::string> addresses, const Stop& /*stop*/) override {
    std::vector<int> numbers;
    int tag = 0;  // of the first rank: groups that are formed at the same time differ
    for (const std::string& one : addresses) {
      int address[2];
      if (one.size() != sizeof(address)) return errors::Internal("an address that is not one of MPI");
      std::memcpy(address, one.data(), sizeof(address));
      if (numbers.empty()) tag = address[1];
      numbers.push_back(address[0]);
    }
    MPI_Group world, own;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, static_cast<int>(numbers.size()), numbers.data(), &own);
    const int made = MPI_Comm_create_group(MPI_COMM_WORLD, own, tag, &communicator_);
    MPI_Group_free(&own);
    MPI_Group_free(&world);
    if (made != MPI_SUCCESS) return Failed("MPI_Comm_create_group", made);
    MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
    return OkStatus();
  }

  bool CanReduceArrays(DType dtype, ReduceOp op, int64_t count) const override {
    return TypeOf(dtype) != MPI_DATATYPE_NULL && OpOf(op) != MPI_OP_NULL && count <= INT_MAX;
  }
  bool CanMove(size_t bytes) const override { return bytes <= INT_MAX; }

  Status AllReduce(void* data, int64_t count, DType dtype, ReduceOp op, const Stop& stop) override {
    return Finish("MPI_Iallreduce", stop, [&](MPI_Request* request) {
      return MPI_Iallreduce(MPI_IN_PLACE, data, static_cast<int>(count), TypeOf(dtype), OpOf(op), communicator_,
                            request);
    });
  }

  Status AllGather(void* data, std::span<const size_t> bytes, const Stop& stop) override {
    std::vector<int> counts, offsets;
    int offset = 0;
    for (const size_t part : bytes) {
      counts.push_back(static_cast<int>(part));
      offsets.push_back(offset);
      offset += counts.back();
    }
    return Finish("MPI_Iallgatherv", stop, [&](MPI_Request* request) {
      return MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_BYTE, data, counts.data(), offsets.data(), MPI_BYTE, communicator_,
                             request);
    });
  }

  Status Broadcast(void* data, size_t bytes, int root, const Stop& stop) override {
    return Finish("MPI_Ibcast", stop, [&](MPI_Request* request) {
      return MPI_Ibcast(data, static_cast<int>(bytes), MPI_BYTE, root, communicator_, request);
    });
  }

  Status Barrier(const Stop& stop) override {
    return Finish("MPI_Ibarrier", stop, [&](MPI_Request* request) { return MPI_Ibarrier(communicator_, request); });
  }

 private:
  Status Failed(const char* what, int code) {
    given_up.store(true);
    char text[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    MPI_Error_string(code, text, &length);
    return errors::Unavailable(what, ": ", text);
  }

  // Starts a request and waits for it: MPI moves data only while it is asked.
  template <typename Start>
  Status Finish(const char* what, const Stop& stop, const Start& start) {
    if (given_up.load()) return errors::FailedPrecondition("Open MPI is not used again after a failure");
    MPI_Request request;
    int code = start(&request), ended = 0;
    if (code != MPI_SUCCESS) return Failed(what, code);
    for (;;) {
      const bool looked = LookFor(LookWindow(kLookNanos, nullptr), kLooks, [&] {
        if (code == MPI_SUCCESS && ended == 0) code = MPI_Test(&request, &ended, MPI_STATUS_IGNORE);
        return code != MPI_SUCCESS || ended != 0;
      });
      if (code != MPI_SUCCESS) return Failed(what, code);
      if (looked) return OkStatus();
      if (Status status = stop(); !status.ok()) {
        given_up.store(true);
        return status;
      }
      std::this_thread::sleep_for(kPause);
    }
  }

  MPI_Comm communicator_ = MPI_COMM_NULL;
};

}  // namespace
}  // namespace millstream::collective

extern "C" __attribute__((visibility("default"))) millstream::collective::Backend* MillstreamMakeBackend() {
  return new millstream::collective::MpiBackend;
}
