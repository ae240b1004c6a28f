// SPDX-License-Identifier: Apache-2.0
// Arbitrary requests to every method that a server answers, and arbitrary frames from another task, several in a row:
// every request gets an answer, every step that was begun at the other task ends, and the server can be taken down.
//
// An input is a list of items: a byte that chooses the method (or, beyond them, a frame), two bytes of length, and the
// message. With its highest bit set, names of sessions are replaced by those of live ones: most requests would not get
// past the door otherwise.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "millstream/base/logging.h"
#include "millstream/base/testing/proto_fuzzer.h"
#include "millstream/distributed/master/master.h"
#include "millstream/distributed/master/master_service.h"
#include "millstream/distributed/master/remote_task.h"
#include "millstream/distributed/task_service.h"
#include "millstream/distributed/testing/direct_call.h"
#include "millstream/distributed/wire/protocol.h"
#include "millstream/distributed/wire/wire_tensor.h"
#include "millstream/graph/testing/random_program.h"
#include "millstream/proto/master.pb.h"
#include "millstream/proto/task.pb.h"
#include "millstream/status/server_status.h"
#include "millstream/tensor/allocator.h"
#include "millstream/tensor/tensor_proto.h"

namespace millstream {
namespace {

using google::protobuf::Message;

constexpr uint64_t kSteps = 4;           // begun at the other task
constexpr int64_t kMaxTensor = 1 << 20;  // bytes
constexpr size_t kMaxItems = 12;
constexpr uint8_t kLiveSession = 0x80;
const char* const kTaskSession = "task";  // a session that some other master opened here

// What is sent to the other task goes nowhere.
class SilentLink final : public PeerLink {
 public:
  SilentLink() : PeerLink("/job:local/replica:0/task:1", 1) {}
  void Send(Frame) override {}
  void Close(Status) override {}
  const char* transport() const override { return "none"; }
  int64_t last_heard_ns() const override { return 0; }
};

class NoChannel final : public RpcChannel {
 public:
  Status Call(const std::string&, const Message&, Message*, const RpcCallOptions&) override {
    return errors::Unavailable("no network");
  }
  void CallAsync(const std::string&, const Message&, Message*, const RpcCallOptions&,
                 std::function<void(Status)> done) override {
    done(errors::Unavailable("no network"));
  }
  Status AwaitServer(const RpcCallOptions&) override { return errors::Unavailable("no network"); }
  bool connected() override { return false; }
  const std::string& address() const override { return address_; }

 private:
  const std::string address_ = "nowhere";
};

// A server without its network, and one other task that a fuzzer speaks for.
class Services {
 public:
  Services() {
    routes_.Route(Worker::kFrames, &worker_);
    RemoteTask::Options remote;
    remote.name = link_->peer();
    remote.incarnation = 1;
    remote.channel = std::make_shared<NoChannel>();
    remote.max_tensor_bytes = kMaxTensor;
    remote_ = std::make_unique<RemoteTask>(std::move(remote), routes_);
    remote_->set_link(link_);
    TaskServiceOptions options;
    options.worker = &worker_;
    options.traces = &master_.traces();
    options.observer = &status_;
    status_.Attach(
        {.options = nullptr, .worker = &worker_, .master = &master_, .address = "nowhere", .job_done = nullptr});
    methods_ = MasterServiceMethods(&master_);
    for (RpcMethod& method : TaskServiceMethods(options)) methods_.push_back(std::move(method));
    worker_.CreateSession(kTaskSession, {}, {}, true, nullptr, link_->peer(), 1).IgnoreError();
    for (uint64_t step = 1; step <= kSteps; ++step) BeginAtOtherTask(step);
  }

  ~Services() {
    remote_->handler()->Closed(*link_, errors::Unavailable("the end"));
    MS_CHECK(ended_ == kSteps);
    status_.Detach();
  }

  const std::vector<RpcMethod>& methods() const { return methods_; }

  void Request(const RpcMethod& method, bool live, absl::string_view bytes) {
    testing::DirectCall call(method);
    if (!call.request().ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
    if (live) UseLiveSession(&call.request());
    if (!Tame(&call.request()) || !call.Run(method).ok()) return;
    if (auto* created = dynamic_cast<proto::CreateSessionResponse*>(&call.response()))
      session_ = created->session_handle();
    if (auto* setup = dynamic_cast<proto::PartialRunSetupResponse*>(&call.response()))
      partial_ = setup->partial_run_handle();
    if (auto* made = dynamic_cast<proto::MakeCallableResponse*>(&call.response())) callable_ = made->handle();
  }

  // Kind, edge, step, tag, length of the payload (two bytes), then the body.
  void ReceiveFrame(absl::string_view bytes) {
    if (bytes.size() < 6) return;
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
    Frame frame;
    frame.kind = byte(0) % 10;
    frame.edge = byte(1) < 250 ? byte(1) % 8 : UINT32_MAX - byte(1);
    frame.step = byte(2) % 8;
    frame.tag = byte(3) % 4;
    const uint64_t payload = byte(4) | byte(5) << 8;
    frame.body = std::string(bytes.substr(6));
    if (payload > 0) {
      StatusOr<Tensor> memory = remote_->handler()->Allocate(*link_, frame, payload);
      if (!memory.ok()) return;
      MS_CHECK(memory->ByteSize() == payload);
      std::memset(memory->raw(), byte(3), payload);
      frame.payload = *std::move(memory);
    }
    remote_->handler()->Receive(*link_, std::move(frame));
  }

 private:
  static WorkerOptions MakeOptions() {
    WorkerOptions options;
    options.task = "/job:local/replica:0/task:0";
    options.incarnation = 1;
    options.session.intra_op_threads = 1;
    options.max_tensor_bytes = kMaxTensor;
    options.max_early_bytes = kMaxTensor;
    return options;
  }

  void BeginAtOtherTask(uint64_t step) {
    PartRun run;
    run.step = step;
    run.done = [this](const Status& status, std::vector<Tensor>* rets, proto::StepStats*) {
      ++ended_;
      for (size_t i = 0; status.ok() && i < rets->size(); ++i) {
        MS_CHECK((*rets)[i].IsInitialized());
        proto::TensorProto message;
        TensorToProto((*rets)[i], &message).IgnoreError();
      }
    };
    remote_->Run(std::move(run), step, /*may_block=*/false);
  }

  void UseLiveSession(Message* request) {
    const auto set = [&](const char* name, const std::string& value) {
      const auto* field = request->GetDescriptor()->FindFieldByName(name);
      if (field != nullptr) request->GetReflection()->SetString(request, field, value);
    };
    set("session_handle", session_);
    set("session", kTaskSession);
    if (auto* step = dynamic_cast<proto::RunStepRequest*>(request)) {
      if (!step->partial_run_handle().empty()) step->set_partial_run_handle(partial_);
    }
    if (auto* run = dynamic_cast<proto::RunCallableRequest*>(request)) run->set_handle(callable_);
  }

  // False: files would be written. Waits are made short: nobody is there to end them.
  static bool Tame(Message* request) {
    constexpr int64_t kShort = 20;  // ms
    if (auto* step = dynamic_cast<proto::RunStepRequest*>(request)) step->mutable_options()->set_timeout_in_ms(kShort);
    if (auto* trace = dynamic_cast<proto::TraceRequest*>(request)) trace->set_timeout_ms(1);
    if (auto* part = dynamic_cast<proto::RegisterPartRequest*>(request)) return testing::IsHarmless(part->graph());
    if (auto* extend = dynamic_cast<proto::ExtendSessionRequest*>(request))
      return testing::IsHarmless(extend->graph_def());
    if (auto* create = dynamic_cast<proto::CreateSessionRequest*>(request)) {
      create->mutable_config()->set_operation_timeout_in_ms(kShort);
      // The master may be asked what it calls itself, but not to look for others.
      auto* cluster = create->mutable_config()->mutable_cluster_def();
      if (cluster->job_size() > 1 || (cluster->job_size() == 1 && cluster->job(0).tasks_size() > 1)) cluster->Clear();
      return testing::IsHarmless(create->graph_def());
    }
    return true;
  }

  const std::shared_ptr<SilentLink> link_ = std::make_shared<SilentLink>();
  Worker worker_{MakeOptions(),
                 [this](const std::string& task, const std::string&, uint64_t) -> StatusOr<std::shared_ptr<PeerLink>> {
                   if (task == link_->peer()) return link_;
                   return errors::Unavailable("no task ", task);
                 }};
  ServerStatus status_;
  Peers peers_{PeersOptions(), nullptr};
  Master master_{&worker_, &peers_, &status_};
  FrameRouter routes_;
  std::unique_ptr<RemoteTask> remote_;
  std::vector<RpcMethod> methods_;
  std::atomic<uint64_t> ended_{0};
  std::string session_, partial_;
  int64_t callable_ = 0;
};

// Items of an input, and back.

struct Item {
  uint8_t kind = 0;
  std::string bytes;
};

std::vector<Item> SplitItems(const uint8_t* data, size_t size) {
  std::vector<Item> items;
  while (size >= 3 && items.size() < kMaxItems) {
    const size_t length = std::min<size_t>(data[1] | data[2] << 8, size - 3);
    items.push_back({data[0], std::string(reinterpret_cast<const char*>(data + 3), length)});
    data += 3 + length;
    size -= 3 + length;
  }
  return items;
}

std::string JoinItems(const std::vector<Item>& items) {
  std::string out;
  for (const Item& item : items) {
    const size_t length = std::min<size_t>(item.bytes.size(), 0xffff);
    out += {static_cast<char>(item.kind), static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
    out += item.bytes.substr(0, length);
  }
  return out;
}

const RpcMethod* MethodOf(const std::vector<RpcMethod>& methods, uint8_t kind) {
  const size_t number = (kind & ~kLiveSession) % (methods.size() + 1);
  return number < methods.size() ? &methods[number] : nullptr;
}

// A frame with what its kind should have.
std::string NewFrame(testing::ProtoMutator* mutator) {
  std::string frame;
  for (int i = 0; i < 4; ++i) frame.push_back(static_cast<char>(mutator->Below(9)));
  frame.append(2, '\0');
  if (frame[0] == kPartDone) {
    frame[1] = static_cast<char>(mutator->Below(2));
    AppendBytes("", &frame);
    AppendBytes("", &frame);
    AppendVarint(1, &frame);
  }
  if (frame[0] == kRunPart) AppendVarint(static_cast<uint64_t>(mutator->Below(2)), &frame);
  if (frame[0] == kPartDone || frame[0] == kRunPart) AppendVarint(static_cast<uint64_t>(mutator->Below(3)), &frame);
  const Tensor value = mutator->Below(3) == 0 ? Tensor::Scalar(std::string("text")) : Tensor::Scalar(1.5f);
  Tensor none;
  EncodeTensor(mutator->Below(8) == 0 ? nullptr : &value, &frame, &none).IgnoreError();
  return frame;
}

void MutateItem(testing::ProtoMutator* mutator, const std::vector<RpcMethod>& methods, Item* item,
                size_t (*raw)(uint8_t*, size_t, size_t)) {
  constexpr size_t kMaxItem = 4000;
  std::string bytes = item->bytes;
  bytes.resize(std::max(bytes.size(), kMaxItem));
  auto* data = reinterpret_cast<uint8_t*>(bytes.data());
  size_t size = item->bytes.size();
  if (const RpcMethod* method = MethodOf(methods, item->kind); method != nullptr) {
    const std::unique_ptr<Message> message(method->request->New());
    const auto change = [&](testing::ProtoMutator* m) {
      proto::GraphDef* graph = nullptr;
      if (auto* create = dynamic_cast<proto::CreateSessionRequest*>(message.get())) graph = create->mutable_graph_def();
      if (auto* extend = dynamic_cast<proto::ExtendSessionRequest*>(message.get())) graph = extend->mutable_graph_def();
      if (auto* part = dynamic_cast<proto::RegisterPartRequest*>(message.get())) graph = part->mutable_graph();
      if (graph != nullptr) testing::ChangeProgram(m, graph);
      return graph != nullptr;
    };
    size = testing::MutateMessage(data, size, bytes.size(), mutator, message.get(), change, raw);
  } else {
    size = raw(data, size, bytes.size());
  }
  item->bytes = bytes.substr(0, size);
}

}  // namespace
}  // namespace millstream

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  using namespace millstream;  // NOLINT(google-build-using-namespace)
  static const auto* methods = new std::vector<RpcMethod>((new Services)->methods());
  testing::ProtoMutator mutator(seed, &testing::ProgramWords());
  std::vector<Item> items = SplitItems(data, size);
  const int kinds = static_cast<int>(methods->size()) + 1;
  const int action = items.empty() ? 0 : mutator.Below(8);
  if (action == 0 && items.size() < kMaxItems) {
    Item item{static_cast<uint8_t>(mutator.Below(kinds) | (mutator.Below(8) == 0 ? 0 : kLiveSession)), ""};
    if (MethodOf(*methods, item.kind) == nullptr) item.bytes = NewFrame(&mutator);
    MutateItem(&mutator, *methods, &item, LLVMFuzzerMutate);
    items.insert(items.begin() + mutator.Below(static_cast<int>(items.size()) + 1), item);
  } else if (action == 1) {
    items.erase(items.begin() + mutator.Below(static_cast<int>(items.size())));
  } else if (action == 2) {
    const int last = static_cast<int>(items.size());
    std::swap(items[static_cast<size_t>(mutator.Below(last))], items[static_cast<size_t>(mutator.Below(last))]);
  } else {
    MutateItem(&mutator, *methods, &items[static_cast<size_t>(mutator.Below(static_cast<int>(items.size())))],
               LLVMFuzzerMutate);
  }
  const std::string out = JoinItems(items);
  if (out.size() > max_size || out.empty()) return size;
  std::memcpy(data, out.data(), out.size());
  return out.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millstream;  // NOLINT(google-build-using-namespace)
  SetHostMemoryLimit(int64_t{256} << 20);
  const std::vector<Item> items = SplitItems(data, size);
  if (items.empty()) return 0;
  Services services;
  for (const Item& item : items) {
    const RpcMethod* method = MethodOf(services.methods(), item.kind);
    if (method != nullptr) {
      services.Request(*method, (item.kind & kLiveSession) != 0, item.bytes);
    } else {
      services.ReceiveFrame(item.bytes);
    }
  }
  return 0;
}
