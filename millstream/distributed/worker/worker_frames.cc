// SPDX-License-Identifier: Apache-2.0
// What links bring to a worker, and what it answers.
#include <algorithm>

#include "millstream/distributed/wire/protocol.h"
#include "millstream/distributed/wire/wire_tensor.h"
#include "millstream/distributed/worker/worker_step.h"
#include "millstream/proto/step_stats.pb.h"
#include "millstream/runtime/executor.h"

namespace millstream {
namespace {

constexpr int kEarlyValuesKept = 6;  // in times of WorkerOptions::ask_after

// The answer to kRunPart. Small results share its frame, large ones go ahead in frames of their own.
void SendPartDone(PeerLink& link, uint64_t step, uint64_t index, Status status, const std::vector<Tensor>* rets,
                  const proto::StepStats* stats) {
  std::string values;
  uint32_t number = 0;
  std::vector<Frame> large;
  for (size_t i = 0; status.ok() && rets != nullptr && i < rets->size(); ++i) {
    Frame own;
    status = EncodeNumbered(i, (*rets)[i], &values, &own.body, &own.payload);
    if (!own.payload.IsInitialized()) {
      ++number;
      continue;
    }
    own.kind = kFetch;
    own.may_lend = true;
    own.step = step;
    own.tag = index;
    own.edge = static_cast<uint32_t>(i);
    large.push_back(std::move(own));
  }
  if (status.ok()) {
    for (Frame& frame : large) link.Send(std::move(frame));
  }
  Frame done;
  done.kind = kPartDone;
  done.step = step;
  done.tag = index;
  done.edge = static_cast<uint32_t>(status.code());
  AppendBytes(status.message(), &done.body);
  AppendBytes(stats != nullptr ? stats->SerializeAsString() : "", &done.body);
  AppendVarint(status.ok() ? number : 0, &done.body);
  if (status.ok()) done.body.append(values);
  link.Send(std::move(done));
}

}  // namespace

StatusOr<Tensor> Worker::Allocate(PeerLink& link, const Frame& frame, uint64_t bytes) {
  return TakePayload(link, frame, AllocatePayload(frame.body, bytes, options_.max_tensor_bytes));
}

StatusOr<Tensor> Worker::Borrow(PeerLink& link, const Frame& frame, const Tensor& memory) {
  return TakePayload(link, frame, BorrowPayload(frame.body, memory, options_.max_tensor_bytes));
}

// `tensor` for the payload of a frame; after an error the step knows.
StatusOr<Tensor> Worker::TakePayload(PeerLink& link, const Frame& frame, StatusOr<Tensor> tensor) {
  const bool begins = frame.kind == kRunPart;  // large feeds have frames of their own
  if (begins) tensor = errors::InvalidArgument("A request to run a part has a payload");
  if (tensor.ok()) return tensor;
  const Status why = WithContext(tensor.status(), absl::StrCat("At ", options_.task));
  if (begins) {  // its sender must not wait for the answer
    Cancel(frame.step, why);
    SendPartDone(link, frame.step, frame.tag, why, nullptr, nullptr);
  } else {
    FailStep(frame.step, why);
  }
  return tensor;
}

void Worker::Receive(PeerLink& link, Frame frame) {
  switch (frame.kind) {
    case kRunPart:
      return RunPartFrame(link, frame);
    case kCancelStep:
      return Cancel(frame.step, errors::Cancelled(frame.body.empty()
                                                      ? "Step was cancelled by an explicit call to `Session::Close()`."
                                                      : frame.body));
    case kTaken: {
      const ThreadLoan lent(ThreadLoan::LimitFor(options_.tasks_on_host));
      if (StepPtr step = FindStep(frame.step, false); step != nullptr) step->exchange.Taken(frame.edge, frame.tag);
      return;
    }
    case kAskStep:
      return AnswerAboutStep(link, frame.step);
    case kStepState:
      return HearAboutStep(link, frame.step, frame.edge);
    case kFeed:
    case kValue:
    case kLoopValue:
      break;
    default:
      return;  // routed to somebody else
  }
  StepPtr step = FindStep(frame.step, /*create=*/true);
  if (step == nullptr) return;
  absl::string_view body = frame.body;
  Tensor value;
  bool dead = false;
  Status status = DecodeTensor(&body, std::move(frame.payload), options_.max_tensor_bytes, &value, &dead);
  if (!status.ok()) return FailStep(frame.step, WithContext(status, absl::StrCat("From ", link.peer())));
  if (frame.kind == kFeed) {
    KeepFeed(*step, frame.edge, std::move(value));
    return;
  }
  {
    const ThreadLoan lent(ThreadLoan::LimitFor(options_.tasks_on_host));
    step->exchange.Deliver(frame.edge, frame.tag, std::move(value), dead,
                           frame.kind == kLoopValue ? link.shared_from_this() : nullptr);
  }
  if (step->begun.load()) return;
  if (step->exchange.waiting_bytes() > options_.max_early_bytes) {
    FailStep(frame.step, errors::ResourceExhausted("More than ", options_.max_early_bytes,
                                                   " bytes came for a step that has not begun"));
  }
}

void Worker::KeepFeed(Step& step, uint32_t argument, Tensor value) {
  {
    MutexLock lock(step.feeds_mu);
    if (step.begun.load()) return;
    step.early_feed_bytes += value.ByteSize();
    if (step.early_feed_bytes <= options_.max_early_bytes) {
      step.early_feeds.emplace_back(argument, std::move(value));
      return;
    }
    step.early_feeds.clear();
  }
  FailStep(step.id, errors::ResourceExhausted("More than ", options_.max_early_bytes,
                                              " bytes were fed to a step that has not begun"));
}

void Worker::FailStep(uint64_t id, const Status& why) {
  StepPtr step = FindStep(id, /*create=*/true);
  if (step == nullptr) return;
  step->cancellation.StartCancel(why);
  step->exchange.Fail(why);
}

// Feeds and values for steps that nobody ever began (their master died in between).
void Worker::DropStaleSteps() {
  const auto before = std::chrono::steady_clock::now() - kEarlyValuesKept * options_.ask_after;
  std::vector<StepPtr> stale;  // dropped outside the lock
  MutexLock lock(steps_mu_);
  for (auto it = steps_.begin(); it != steps_.end();) {
    auto next = std::next(it);
    if (!it->second->begun.load() && it->second->first_heard < before) {
      stale.push_back(std::move(it->second));
      steps_.erase(it);
    }
    it = next;
  }
}

void Worker::RunPartFrame(PeerLink& link, const Frame& frame) {
  const std::shared_ptr<PeerLink> reply = link.shared_from_this();
  const auto fail = [&](const Status& status) {
    SendPartDone(*reply, frame.step, frame.tag, status, nullptr, nullptr);
  };
  StatusOr<std::shared_ptr<TaskPart>> part = FindPart(frame.edge);
  if (!part.ok()) return fail(part.status());
  StepPtr step = FindStep(frame.step, /*create=*/true);
  if (step == nullptr || step->begun.exchange(true))
    return fail(errors::Internal("Step ", frame.step, " was begun twice"));
  PartRun run;
  run.step = frame.step;
  run.part = frame.edge;
  run.args.resize((*part)->plan->arg_types.size());
  const auto set = [&](uint64_t number, Tensor value) {
    if (number < run.args.size()) run.args[number] = std::move(value);
  };
  {
    MutexLock lock(step->feeds_mu);
    for (auto& [number, value] : step->early_feeds) set(number, std::move(value));
    step->early_feeds.clear();
  }
  absl::string_view body = frame.body;
  uint64_t flags = 0;
  const bool well_formed = ConsumeVarint(&body, &flags) &&
                           ((flags & kRunNumbered) == 0 ||
                            (ConsumeVarint(&body, &run.identity.client) && ConsumeVarint(&body, &run.identity.number)));
  Status status = well_formed ? OkStatus() : errors::InvalidArgument("Malformed request to run a part");
  run.traced = (flags & kRunTraced) != 0;
  while (status.ok() && !body.empty()) {
    uint64_t number = 0;
    Tensor value;
    bool dead = false;
    if (!ConsumeVarint(&body, &number))
      status = errors::InvalidArgument("Malformed feeds");
    else
      status = DecodeTensor(&body, Tensor(), options_.max_tensor_bytes, &value, &dead);
    set(number, std::move(value));
  }
  if (status.ok() && step->cancellation.IsCancelled()) status = step->cancellation.status();  // FailStep()
  run.done = [reply, step = frame.step, index = frame.tag](Status s, std::vector<Tensor>* rets,
                                                           proto::StepStats* stats) {
    SendPartDone(*reply, step, index, std::move(s), rets, stats);
  };
  step->origin.store(&link);
  if (!status.ok()) {
    {
      MutexLock lock(steps_mu_);
      steps_.erase(frame.step);
    }
    return fail(status);
  }
  Begin(step, *std::move(part), std::move(run), /*may_block=*/false);
}

void Worker::LinkLost(PeerLink& link, const Status& why) {
  {
    MutexLock lock(links_mu_);
    std::erase_if(links_, [&](const std::weak_ptr<PeerLink>& other) {
      const std::shared_ptr<PeerLink> open = other.lock();
      return open == nullptr || open.get() == &link;
    });
  }
  // First the parts, then the steps: a step that is just beginning is found, or finds out itself.
  {
    MutexLock lock(sessions_mu_);
    for (const auto& [number, part] : parts_) {
      if (part->Exchanges(link)) part->Cut(why);
    }
  }
  // Steps that this peer began are nobody's any more; those that need it will not end by themselves.
  std::vector<std::pair<StepPtr, Status>> lost;
  running_.ForEach([&](Step& step) {
    if (step.origin.load() != &link && !step.part->Exchanges(link)) return;
    const auto& from = step.part->from;
    const auto sender = std::find_if(from.begin(), from.end(),
                                     [&](const FromTask& task) { return task.incarnation == link.peer_incarnation(); });
    const bool renamed = sender != from.end() && sender->name != link.peer();
    lost.emplace_back(step.shared_from_this(), renamed ? WithContext(why, sender->name) : why);
  });
  for (const auto& [step, reason] : lost) step->cancellation.StartCancel(reason);
  // Sessions of a master that is gone.
  std::vector<std::string> orphans;
  {
    MutexLock lock(sessions_mu_);
    for (const auto& [name, entry] : sessions_) {
      if (entry.master_task == link.peer() && entry.master_incarnation == link.peer_incarnation())
        orphans.push_back(name);
    }
  }
  for (const std::string& name : orphans) DeleteSession(name).IgnoreError();
}

}  // namespace millstream
