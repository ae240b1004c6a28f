// SPDX-License-Identifier: Apache-2.0
#include "tests/chaos/threads/trainer.h"

#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "millstream/proto/config.pb.h"
#include "millstream/train/sessions/training_session.h"
#include "tests/chaos/threads/virtual_time.h"

namespace millstream::chaos {
namespace {

constexpr auto kPause = std::chrono::seconds(1);  // between steps
constexpr double kSaveSecs = 4;
constexpr std::chrono::seconds kEndsWithin{60};

Seen SeenIn(Seen::Event event, const std::vector<Tensor>& values) {
  Seen seen{event, VirtualTime::now_ns(), values.back().scalar<int64_t>(), {}};
  for (size_t i = 0; i + 1 < values.size(); ++i) seen.mine.push_back(values[i].scalar<int64_t>());
  return seen;
}

// Notes what a new session finds.
class NoteSessions final : public SessionRunHook {
 public:
  NoteSessions(int worker, Record* record, std::vector<std::string> reads)
      : worker_(worker), record_(record), reads_(std::move(reads)) {}
  Status AfterCreateSession(Session& session, Coordinator&) override {
    std::vector<Tensor> values;
    RETURN_IF_ERROR(session.Run({}, reads_, {}, &values));
    record_->Note(worker_, SeenIn(Seen::Event::kCreated, values));
    return OkStatus();
  }

 private:
  const int worker_;
  Record* const record_;
  const std::vector<std::string> reads_;
};

}  // namespace

Trainer::Trainer(Server* server, const Options& options, Record* record)
    : server_(server), options_(options), record_(record) {
  thread_ = std::thread([this] { Main(); });
}

Trainer::~Trainer() {
  killed_ = true;
  server_->RequestStop("killed");
  AwaitEnd();
  thread_.join();
}

void Trainer::AwaitEnd() {
  const auto deadline = std::chrono::steady_clock::now() + kEndsWithin;
  MutexLock lock(mu_);
  while (!ended_.has_value() && std::chrono::steady_clock::now() < deadline) has_ended_.WaitUntil(mu_, deadline);
  if (ended_.has_value()) return;
  std::printf("VIOLATION: worker %d was told to stop and has not ended for %lld s\n", options_.worker,
              static_cast<long long>(kEndsWithin.count()));
  std::fflush(stdout);
  std::_Exit(1);
}

std::optional<Status> Trainer::ended() const {
  MutexLock lock(mu_);
  return ended_;
}

void Trainer::Main() {
  record_->Note(options_.worker, Seen());
  Status status = Train();
  MutexLock lock(mu_);
  ended_ = std::move(status);
  has_ended_.NotifyAll();
}

StatusOr<std::unique_ptr<MonitoredSession>> Trainer::MakeSession(const Program& program) {
  const bool chief = options_.worker == 0, own_variables = options_.mode == Mode::kAllReduce;
  proto::ConfigProto config;
  if (own_variables) config.add_device_filters(absl::StrCat("/job:worker/task:", options_.worker));
  TrainingSessionOptions options;
  ASSIGN_OR_RETURN(SessionOptions session, SessionOptions::FromProto(config));
  options.config = server_->WithThisServer(std::move(session));
  options.is_chief = chief || own_variables;
  options.hooks = program.hooks;
  options.hooks.push_back(std::make_shared<NoteSessions>(options_.worker, record_, program.reads));
  if (options_.checkpoints != nullptr && chief) {
    options.checkpoint_dir = options_.checkpoints->folder();
    options.save_checkpoint_secs = kSaveSecs;
    options.on_saved = [this](const std::string& path, int64_t step) { options_.checkpoints->Saved(path, step); };
  }
  options.log_step_count_steps = 0;
  options.save_summaries_steps = 0;
  options.stop_grace_period_secs = 1;
  return MonitoredTrainingSession(program.scope, options);
}

Status Trainer::Step(const Program& program, MonitoredSession& session) {
  std::vector<Tensor> values;
  if (!program.step.empty()) {
    RETURN_IF_ERROR(session.Run({}, program.step, {}, &values));
  } else {
    RETURN_IF_ERROR(session.Run({}, {}, {program.train}, &values));
    RETURN_IF_ERROR(session.Run({}, program.reads, {}, &values));
  }
  record_->Note(options_.worker, SeenIn(Seen::Event::kStep, values));
  return OkStatus();
}

Status Trainer::Train() {
  const Program program = MakeProgram(options_.mode, options_.worker, options_.num_workers, options_.num_ps);
  ASSIGN_OR_RETURN(const auto session, MakeSession(program));
  Status status;
  while (status.ok() && !killed_ && !session->ShouldStop()) {
    status = Step(program, *session);
    std::this_thread::sleep_for(kPause);
  }
  // As a process that is killed: nobody is told that the training ended.
  return session->Close(status.ok() ? errors::Cancelled("killed") : status);
}

}  // namespace millstream::chaos
