// SPDX-License-Identifier: Apache-2.0
// Requests made of arbitrary bytes, to every method that a server answers: each gets an answer. The first byte chooses
// the method; names of sessions are replaced by that of a live one, so that requests get past the door.
#include <cstddef>
#include <cstdint>
#include <string>

#include "google/protobuf/stubs/logging.h"
#include "millstream/distributed/master.h"
#include "millstream/distributed/master_service.h"
#include "millstream/distributed/task_service.h"
#include "millstream/distributed/testing/direct_call.h"
#include "millstream/proto/graph.pb.h"
#include "millstream/proto/master.pb.h"
#include "millstream/tensor/allocator.h"

namespace millstream {
namespace {

// A server without its network. Never destroyed.
struct Services {
  Worker worker{MakeOptions(), [](const std::string& task, uint64_t) -> StatusOr<std::shared_ptr<PeerLink>> {
                  return errors::Unavailable("no task ", task);
                }};
  Peers peers{PeersOptions(), &worker, nullptr};
  Master master{&worker, &peers};
  std::vector<RpcMethod> methods = MasterServiceMethods(&master);
  std::string session;

  Services() {
    TaskServiceOptions options;
    options.worker = &worker;
    for (RpcMethod& method : TaskServiceMethods(options)) methods.push_back(std::move(method));
    worker.CreateSession("task", {}, true, nullptr, "", 0).IgnoreError();
  }
  static WorkerOptions MakeOptions() {
    WorkerOptions options;
    options.task = "/job:local/replica:0/task:0";
    options.incarnation = 1;
    options.session.intra_op_threads = 1;
    options.max_tensor_bytes = 1 << 20;
    return options;
  }
};

// Files are not to be written, and nobody is there to end a wait.
bool IsHarmless(const google::protobuf::Message& request) {
  const std::string text = request.DebugString();
  for (const char* word :
       {"Save", "Merge", "Write", "File", "Print", "Abort", "Queue", "Accumulator", "Barrier", "Stage", "Sleep"}) {
    if (text.find(word) != std::string::npos) return false;
  }
  return true;
}

void UseSession(const std::string& name, google::protobuf::Message* request) {
  const auto* descriptor = request->GetDescriptor();
  for (const char* field : {"session_handle", "session"}) {
    const auto* found = descriptor->FindFieldByName(field);
    if (found != nullptr)
      request->GetReflection()->SetString(request, found, std::string(field) == "session" ? "task" : name);
  }
}

}  // namespace
}  // namespace millstream

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);  // it reports every string that is not UTF-8
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millstream;  // NOLINT(google-build-using-namespace)
  SetHostMemoryLimit(int64_t{256} << 20);
  static auto* services = new Services;
  if (size < 2) return 0;
  const RpcMethod& method = services->methods[data[0] % services->methods.size()];
  testing::DirectCall call(method);
  if (!call.request().ParseFromArray(data + 1, static_cast<int>(size - 1)) || !IsHarmless(call.request())) return 0;
  if ((data[0] & 0x80) != 0) UseSession(services->session, &call.request());
  if (auto* step = dynamic_cast<proto::RunStepRequest*>(&call.request()))
    step->mutable_options()->set_timeout_in_ms(100);
  if (call.Run(method).ok()) {
    if (auto* created = dynamic_cast<proto::CreateSessionResponse*>(&call.response())) {
      if (!services->session.empty()) services->master.Close(services->session).IgnoreError();
      services->session = created->session_handle();
    }
  }
  return 0;
}
