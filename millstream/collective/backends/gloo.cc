// SPDX-License-Identifier: Apache-2.0
// Collectives by Gloo, over TCP connections of its own. GLOO_SOCKET_IFNAME names the network interface that it uses.
#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/context.h>
#include <gloo/transport/context.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/tcp/device.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <thread>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/base/status.h"
#include "millstream/collective/backend.h"

namespace millstream::collective {
namespace {

// Longer than any wait: Stop ends those that last too long.
constexpr auto kForever = std::chrono::hours(24 * 365);
constexpr auto kAskStop = std::chrono::milliseconds(50);

// Pairs of ranks whose addresses travel by the group instead of a store.
class PairedContext final : public gloo::Context {
 public:
  PairedContext(int rank, int size) : gloo::Context(rank, size) {
    gloo::transport::tcp::attr attributes;
    if (const char* const interface = std::getenv("GLOO_SOCKET_IFNAME")) attributes.iface = interface;
    device_ = gloo::transport::tcp::CreateDevice(attributes);
    transportContext_ = device_->createContext(rank, size);
    transportContext_->setTimeout(kForever);
    setTimeout(kForever);
  }

  // One address for each other rank, of equal sizes.
  std::string Addresses() {
    std::string all;
    for (int i = 0; i < size; ++i) {
      if (i == rank) continue;
      const std::vector<char> address = transportContext_->createPair(i)->address().bytes();
      all.append(address.data(), address.size());
    }
    return all;
  }

  void Connect(std::span<const std::string> addresses) {
    for (int i = 0; i < size; ++i) {
      if (i == rank) continue;
      const std::string& theirs = addresses[static_cast<size_t>(i)];
      const size_t bytes = theirs.size() / static_cast<size_t>(size - 1);
      const char* const address = theirs.data() + bytes * static_cast<size_t>(rank < i ? rank : rank - 1);
      transportContext_->getPair(i)->connect({address, address + bytes});
    }
  }
};

// Ends a wait by closing the connections, once its Stop says so. A thread of its own, since Gloo's calls block.
class Watch {
 public:
  explicit Watch(gloo::Context* context) : context_(context), thread_([this] { Main(); }) {}
  ~Watch() {
    {
      MutexLock lock(mu_);
      over_ = true;
      cv_.NotifyAll();
    }
    thread_.join();
  }
  void Begin(const Backend::Stop* stop) {
    MutexLock lock(mu_);
    stop_ = stop;
    cv_.NotifyAll();
  }
  // Why connections were closed; OK: they are open.
  Status End() {
    MutexLock lock(mu_);
    stop_ = nullptr;
    return why_;
  }

 private:
  void Main() {
    MutexLock lock(mu_);
    while (!over_ && why_.ok()) {
      if (stop_ == nullptr) {
        cv_.Wait(mu_);
        continue;
      }
      cv_.WaitUntil(mu_, std::chrono::steady_clock::now() + kAskStop);
      if (stop_ != nullptr) why_ = (*stop_)();
    }
    if (!why_.ok()) context_->closeConnections();
  }

  gloo::Context* const context_;
  Mutex mu_;
  CondVar cv_;
  bool over_ ABSL_GUARDED_BY(mu_) = false;
  const Backend::Stop* stop_ ABSL_GUARDED_BY(mu_) = nullptr;  // null: nobody waits
  Status why_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

// The type matters to Gloo by its size alone: we reduce.
void SetOutput(gloo::AllreduceOptions* options, void* data, size_t element_bytes, size_t count) {
  if (element_bytes == 2) options->setOutput(static_cast<uint16_t*>(data), count);
  if (element_bytes == 4) options->setOutput(static_cast<uint32_t*>(data), count);
  if (element_bytes == 8) options->setOutput(static_cast<uint64_t*>(data), count);
}

class GlooBackend final : public Backend {
 public:
  const char* name() const override { return "gloo"; }

  StatusOr<std::string> Address(int rank, int ranks) override {
    std::string addresses;
    RETURN_IF_ERROR(Caught([&] {
      context_ = std::make_shared<PairedContext>(rank, ranks);
      addresses = context_->Addresses();
      watch_ = std::make_unique<Watch>(context_.get());
    }));
    return addresses;
  }

  Status Join(std::span<const std::string> addresses, const Stop& stop) override {
    return Run(stop, [&] { context_->Connect(addresses); });
  }

  bool CanReduceArrays(DType /*dtype*/, ReduceOp /*op*/, int64_t count) const override { return count > 0; }
  bool CanMove(size_t bytes) const override { return bytes > 0; }

  Status AllReduce(void* data, int64_t count, DType dtype, ReduceOp op, const Stop& stop) override {
    return Run(stop, [&] {
      gloo::AllreduceOptions options(context_);
      SetOutput(&options, data, DTypeSize(dtype), static_cast<size_t>(count));
      options.setReduceFunction([=](void* out, const void* a, const void* b, size_t n) {
        Combine(op, dtype, out, a, b, static_cast<int64_t>(n));
      });
      gloo::allreduce(options);
    });
  }

  Status AllGather(void* data, std::span<const size_t> bytes, const Stop& stop) override {
    return Run(stop, [&] {
      gloo::AllgathervOptions options(context_);
      options.setOutput(static_cast<char*>(data), {bytes.begin(), bytes.end()});
      gloo::allgatherv(options);
    });
  }

  Status Broadcast(void* data, size_t bytes, int root, const Stop& stop) override {
    return Run(stop, [&] {
      gloo::BroadcastOptions options(context_);
      options.setOutput(static_cast<char*>(data), bytes);
      options.setRoot(root);
      gloo::broadcast(options);
    });
  }

  Status Barrier(const Stop& stop) override {
    return Run(stop, [&] {
      gloo::BarrierOptions options(context_);
      gloo::barrier(options);
    });
  }

 private:
  // Gloo reports errors by exceptions.
  template <typename Work>
  static Status Caught(const Work& work) {
    try {
      work();
      return OkStatus();
    } catch (const std::exception& error) {
      return errors::Unavailable("Gloo: ", error.what());
    }
  }

  template <typename Work>
  Status Run(const Stop& stop, const Work& work) {
    watch_->Begin(&stop);
    const Status status = Caught(work);
    const Status why = watch_->End();
    return why.ok() ? status : why;
  }

  std::shared_ptr<PairedContext> context_;
  std::unique_ptr<Watch> watch_;  // goes first
};

}  // namespace
}  // namespace millstream::collective

extern "C" __attribute__((visibility("default"))) millstream::collective::Backend* MillstreamMakeBackend() {
  return new millstream::collective::GlooBackend;
}
