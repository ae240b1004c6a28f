// SPDX-License-Identifier: Apache-2.0
#include "millstream/launch/elastic_job.h"

#include <unistd.h>

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "millstream/base/file.h"
#include "millstream/launch/discovery.h"
#include "millstream/launch/elastic_world.h"
#include "millstream/launch/job_token.h"

namespace millstream::launch {
namespace {

using Clock = std::chrono::steady_clock;

// Starts and ends workers, and tells them with whom they train.
class ElasticJob {
 public:
  ElasticJob(const JobOptions& options, const ElasticOptions& elastic, Discovery* discovery, LocalJob job,
             GroupOptions group);
  GroupResult Run();

 private:
  struct Slot {
    enum class State { kEmpty, kRunning, kLeaving, kFailed };
    State state = State::kEmpty;
    int failures = 0;
    Clock::time_point next = {};    // when it may be started
    Clock::time_point end_at = {};  // kLeaving: when it is told to end
  };
  std::string NameOf(int slot) const { return JobTask{"worker", slot}.name(); }
  std::string ReadyFile(int slot) const { return absl::StrCat(folder_, "/ready-", slot); }
  void Tick();
  void ReadAnnouncements();
  void FillSlots();
  void EndNewWorkers();
  void StartWorker(int slot);
  void DismissWorker(int slot);
  int NewestWorker() const;
  void OnEnd(const std::string& name, int exit_code, const std::string& how);
  void Publish();
  void CheckEnough();
  int Count(Slot::State state) const;

  const JobOptions& options_;
  const ElasticOptions& elastic_;
  const std::string folder_;
  const std::chrono::milliseconds grace_, restart_delay_;
  Discovery* const discovery_;  // may be null
  const FreePorts ports_;
  ElasticWorld world_;
  std::vector<Slot> slots_;
  ProcessGroup group_;
  std::optional<Clock::time_point> too_few_since_;
  std::string last_name_, last_how_;  // of the worker that failed last
  int last_code_ = 0;
};

GroupOptions WithCallbacks(GroupOptions group, std::function<void()> on_tick,
                           decltype(GroupOptions::on_optional_end) on_end) {
  group.tick = std::chrono::milliseconds(20);
  group.on_tick = std::move(on_tick);
  group.on_optional_end = std::move(on_end);
  return group;
}

ElasticJob::ElasticJob(const JobOptions& options, const ElasticOptions& elastic, Discovery* discovery, LocalJob job,
                       GroupOptions group)
    : options_(options),
      elastic_(elastic),
      folder_(group.scratch_folder),
      grace_(group.grace),
      restart_delay_(group.restart_delay),
      discovery_(discovery),
      ports_(std::move(job.ports)),
      world_(elastic.min_workers),
      slots_(size_t(options.workers)),
      group_(std::move(job.processes),
             WithCallbacks(
                 std::move(group), [this] { Tick(); },
                 [this](const std::string& name, int code, const std::string& how) { OnEnd(name, code, how); })) {
  group_.Note(job.starting);
}

GroupResult ElasticJob::Run() {
  Publish();
  group_.Hold(true);
  return group_.Run();
}

int ElasticJob::Count(Slot::State state) const {
  return static_cast<int>(std::count_if(slots_.begin(), slots_.end(), [&](const Slot& s) { return s.state == state; }));
}

void ElasticJob::Tick() {
  if (group_.stopping()) return;
  ReadAnnouncements();
  world_.has_finished() ? EndNewWorkers() : FillSlots();
  if (world_.Advance()) Publish();
  const int running = Count(Slot::State::kRunning) + Count(Slot::State::kLeaving);
  if (world_.has_finished() && running == 0) return group_.Hold(false);
  CheckEnough();
}

void ElasticJob::ReadAnnouncements() {
  for (size_t i = 0; i < slots_.size(); ++i) {
    const int slot = static_cast<int>(i);
    if (slots_[i].state == Slot::State::kLeaving && Clock::now() >= slots_[i].end_at) group_.End(NameOf(slot));
    if (slots_[i].state != Slot::State::kRunning) continue;
    const StatusOr<std::string> text = ReadFile(ReadyFile(slot), 64);
    int64_t version = 0;
    if (text.ok() && absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &version)) world_.Announce(slot, version);
  }
}

void ElasticJob::FillSlots() {
  const int most = static_cast<int>(slots_.size());
  const auto note = [this](const std::string& text) { group_.Note(text); };
  const int wanted = discovery_ == nullptr ? most : std::min(most, discovery_->Poll(note));
  int running = Count(Slot::State::kRunning);
  for (int i = 0; i < wanted && running < wanted; ++i) {
    const Slot& slot = slots_[size_t(i)];
    if (slot.state != Slot::State::kEmpty || Clock::now() < slot.next) continue;
    StartWorker(i);
    ++running;
  }
  for (; running > wanted; --running) DismissWorker(NewestWorker());
}

// Of the workers that run, the last one that should be kept: those that have trained longest have the state.
int ElasticJob::NewestWorker() const {
  int newest = -1;
  for (int i = 0; i < static_cast<int>(slots_.size()); ++i) {
    if (slots_[size_t(i)].state != Slot::State::kRunning) continue;
    if (newest < 0 || world_.MemberSince(i) >= world_.MemberSince(newest)) newest = i;
  }
  return newest;
}

// The job is about to end: workers that have not begun to train are too late.
void ElasticJob::EndNewWorkers() {
  for (size_t i = 0; i < slots_.size(); ++i) {
    const int slot = static_cast<int>(i);
    if (slots_[i].state != Slot::State::kRunning || world_.IsMember(slot)) continue;
    slots_[i].state = Slot::State::kLeaving;
    slots_[i].end_at = Clock::now();
    world_.Leave(slot);
  }
}

void ElasticJob::StartWorker(int slot) {
  unlink(ReadyFile(slot).c_str());
  slots_[size_t(slot)].state = Slot::State::kRunning;
  world_.Start(slot);
  group_.Start(NameOf(slot));
}

// It ends by itself when it has found out, if it trains; the others go on with the next world.
void ElasticJob::DismissWorker(int slot) {
  group_.Note(absl::StrCat(NameOf(slot), " leaves: there are fewer slots"));
  slots_[size_t(slot)].state = Slot::State::kLeaving;
  slots_[size_t(slot)].end_at = Clock::now();
  if (world_.IsMember(slot)) slots_[size_t(slot)].end_at += elastic_.timeout;
  world_.Leave(slot);
}

void ElasticJob::OnEnd(const std::string& name, int exit_code, const std::string& how) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (NameOf(static_cast<int>(i)) != name) continue;
    Slot& slot = slots_[i];
    const bool dismissed = slot.state == Slot::State::kLeaving;
    slot.state = Slot::State::kEmpty;
    if (dismissed) return;
    if (exit_code == 0) return world_.Finish(static_cast<int>(i));
    world_.Leave(static_cast<int>(i));
    last_name_ = name, last_how_ = how, last_code_ = exit_code;
    const bool again = slot.failures < options_.max_restarts;
    const auto delay = restart_delay_ * (1 << std::min(slot.failures++, 4));
    slot.next = Clock::now() + delay;
    if (!again) slot.state = Slot::State::kFailed;
    group_.Note(absl::StrCat(name, " ended: ", how,
                             again ? absl::StrCat("; starting it again in ", delay.count(), " ms (", slot.failures,
                                                  " of ", options_.max_restarts, ")")
                                   : std::string("; it is dropped"),
                             "; ", world_.num_started(), " workers are left"));
  }
}

void ElasticJob::Publish() {
  const Status status = WriteFileAtomically(absl::StrCat(folder_, "/world"), world_.ToJson());
  if (!status.ok()) group_.Note(absl::StrCat("cannot write the list of workers: ", status.message()));
  const bool formed = world_.formed() && !world_.pending();
  if (formed) group_.Note(absl::StrCat("training goes on with workers ", absl::StrJoin(world_.formed()->tasks, ", ")));
}

// A job with too few workers waits for more; without any that could come it fails at once.
void ElasticJob::CheckEnough() {
  const auto now = Clock::now();
  const int running = Count(Slot::State::kRunning);
  if (world_.has_finished() || running >= elastic_.min_workers) return too_few_since_.reset();
  const bool hopeless = static_cast<int>(slots_.size()) - Count(Slot::State::kFailed) < elastic_.min_workers;
  if (!too_few_since_) {
    too_few_since_ = now;
    if (!hopeless)
      group_.Note(absl::StrCat(running, " of at least ", elastic_.min_workers,
                               " workers are there; waiting for more for ", elastic_.timeout.count() / 1000, " s"));
  }
  if (!hopeless && now < *too_few_since_ + elastic_.timeout) return;
  const std::string why = absl::StrCat("only ", running, " of at least ", elastic_.min_workers, " workers are left",
                                       last_how_.empty() ? "" : absl::StrCat(", since it ended: ", last_how_));
  group_.Fail(last_name_.empty() ? NameOf(0) : last_name_, why, last_code_ == 0 ? 1 : last_code_);
}

}  // namespace

StatusOr<GroupResult> RunElastically(const JobOptions& options, const ElasticOptions& elastic, GroupOptions group) {
  if (options.ps > 0 || options.chief) {
    return errors::InvalidArgument("a job whose number of workers changes has workers alone: no --ps, no --chief");
  }
  if (elastic.min_workers < 1 || elastic.min_workers > options.workers) {
    return errors::InvalidArgument("--workers ", elastic.min_workers, ":", options.workers,
                                   ": at least 1, at most as many as the second number");
  }
  RETURN_IF_ERROR(CheckJob(options));
  std::unique_ptr<Discovery> discovery;
  if (!elastic.discovery.empty()) {
    discovery = std::make_unique<Discovery>(elastic.discovery);
    RETURN_IF_ERROR(discovery->First().status());
  }
  ASSIGN_OR_RETURN(LocalJob job, PrepareLocalJob(options, &group));
  if (group.scratch_folder.empty()) {
    ASSIGN_OR_RETURN(group.scratch_folder, MakeScratchFolder());
  }
  for (ProcessSpec& process : job.processes) {
    process.optional = true;
    process.environment.emplace_back("MILLSTREAM_ELASTIC", group.scratch_folder);
  }
  return ElasticJob(options, elastic, discovery.get(), std::move(job), std::move(group)).Run();
}

}  // namespace millstream::launch
