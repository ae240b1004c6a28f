// SPDX-License-Identifier: Apache-2.0
#include "cli/train/trainer.h"

#include <algorithm>
#include <cmath>

#include "millstream/framework/monitoring/evaluation_results.h"
#include "millstream/train/sessions/basic_hooks.h"

namespace millstream::cli {
namespace {

constexpr double kWatchSecs = 0.02;   // about so often a step is watched
constexpr double kReportSecs = 0.2;   // and so often is reported
constexpr int64_t kWriteSteps = 100;  // between scalars in event files, as in TensorFlow
constexpr double kSmooth = 0.1;       // weight of the newest loss
constexpr int64_t kEvalBatch = 1000;

void Smooth(double value, double* average) {
  *average = *average == -1 ? value : *average + kSmooth * (value - *average);
}

}  // namespace

// Signatures of a session: they are made again with each new one.
class Trainer::Callables final : public SessionRunHook {
 public:
  explicit Callables(const TrainingGraph& graph) : graph_(graph) {}

  Status AfterCreateSession(Session& session, Coordinator& /*coordinator*/) override {
    ASSIGN_OR_RETURN(train_, session.MakeCallable(FeedNames(), {graph_.step_after.name()}, {}));
    ASSIGN_OR_RETURN(evaluate_,
                     session.MakeCallable(FeedNames(), {graph_.model.loss.name(), graph_.model.score.name()}, {}));
    return OkStatus();
  }

  Status Train(Session& session, const std::vector<Tensor>& feeds, std::vector<Tensor>* out) const {
    return session.RunCallable(train_, feeds, out);
  }
  Status Evaluate(Session& session, const std::vector<Tensor>& feeds, std::vector<Tensor>* out) const {
    return session.RunCallable(evaluate_, feeds, out);
  }

  std::vector<std::string> FeedNames() const {
    const ModelInputs& in = graph_.model.inputs;
    std::vector<std::string> names = {in.numbers.name(), in.labels.name()};
    if (in.categories) names.push_back(in.categories.name());
    return names;
  }
  // In the order of FeedNames().
  void TakeFeeds(const Batch& batch, std::vector<Tensor>* feeds) const {
    feeds->clear();
    feeds->push_back(batch.numbers);
    feeds->push_back(batch.labels);
    if (graph_.model.inputs.categories) feeds->push_back(batch.categories);
  }

 private:
  const TrainingGraph& graph_;
  Session::CallableHandle train_ = 0, evaluate_ = 0;
};

Trainer::Trainer(const TrainOptions& options, const TrainingGraph& graph, const ExampleData& data, bool chief,
                 const EventLog& log, const std::atomic<bool>& stop)
    : options_(options),
      graph_(graph),
      data_(data),
      chief_(chief),
      log_(log),
      stop_(stop),
      callables_(std::make_shared<Callables>(graph)) {}

Trainer::~Trainer() = default;

StatusOr<std::unique_ptr<MonitoredSession>> Trainer::MakeSession(const SessionOptions& config) {
  TrainingSessionOptions session;
  session.config = config;
  session.is_chief = chief_ || graph_.own_variables;
  if (chief_ || !graph_.own_variables) session.checkpoint_dir = options_.logdir;
  session.save_checkpoint_secs = options_.save_checkpoint_secs;
  session.save_summaries_steps = 0;
  session.log_step_count_steps = 0;
  session.on_saved = [this](const std::string& path, int64_t step) {
    TrainEvent event;
    event.kind = TrainEvent::Kind::kSaved;
    event.path = path;
    event.global_step = step;
    log_.Say(std::move(event));
  };
  session.on_restore = [this](const std::string& path, bool restored) {
    TrainEvent event;
    event.kind = restored ? TrainEvent::Kind::kRestored : TrainEvent::Kind::kKept;
    event.path = path;
    log_.Say(std::move(event));
  };
  session.hooks = {callables_};
  // Workers of a group end by what the group knows, not by what they find each.
  if (!graph_.mode.group_step) session.hooks.push_back(StopAtStepHook::AtStep(options_.train_steps));
  session.hooks.insert(session.hooks.end(), graph_.mode.hooks.begin(), graph_.mode.hooks.end());
  return MonitoredTrainingSession(graph_.scope, std::move(session));
}

Status Trainer::Run(const SessionOptions& config, Batches& batches) {
  if (chief_ && !options_.no_logdir) {
    ASSIGN_OR_RETURN(events_, FileWriter::Shared(options_.logdir));
    ASSIGN_OR_RETURN(eval_events_, FileWriter::Make(options_.logdir + "/eval"));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<MonitoredSession> session, MakeSession(config));
  Status status = FindFirstStep(*session);
  if (status.ok()) status = Train(*session, batches);
  if (status.ok() && chief_ && !stop_) status = Evaluate(*session);
  status = session->Close(status);
  RETURN_IF_ERROR(status);
  TrainEvent done;
  done.kind = TrainEvent::Kind::kDone;
  done.global_step = global_step_;
  done.local_step = local_step_;
  log_.Say(std::move(done));
  return OkStatus();
}

// Where training goes on; a job that was finished before has nothing to train.
Status Trainer::FindFirstStep(MonitoredSession& session) {
  if (session.ShouldStop()) return OkStatus();
  RETURN_IF_ERROR(session.RunStep([this](Session& plain) {
    const Session::Feeds none;
    return plain.Run(none, {graph_.step_before.name()}, {}, &fetched_);
  }));
  global_step_ = fetched_[0].scalar<int64_t>();
  if (!chief_ || global_step_ < options_.train_steps) return OkStatus();
  TrainEvent event;
  event.kind = TrainEvent::Kind::kNothingToDo;
  event.global_step = global_step_;
  event.path = options_.logdir;
  log_.Say(std::move(event));
  return OkStatus();
}

Status Trainer::Train(MonitoredSession& session, Batches& batches) {
  last_watched_ = last_reported_ = Clock::now();
  next_eval_ = options_.eval_steps;
  while (!Finished() && !session.ShouldStop()) {
    Fill(batches);
    const bool watch = local_step_ < 10 || local_step_ - last_watched_step_ >= watch_every_;
    RETURN_IF_ERROR(watch ? WatchedStep(session) : PlainStep(session));
    RETURN_IF_ERROR(PeriodicStep(session, false));
    if (chief_ && options_.eval_steps > 0 && global_step_ >= next_eval_ && global_step_ < options_.train_steps) {
      RETURN_IF_ERROR(Evaluate(session));
      next_eval_ = global_step_ + options_.eval_steps;
    }
  }
  if (local_step_ > last_reported_step_) ReportProgress();
  return stop_ ? OkStatus() : PeriodicStep(session, true);
}

Status Trainer::PeriodicStep(MonitoredSession& session, bool last) {
  const ModeGraph::Periodic& periodic = graph_.mode.periodic;
  if (periodic.op == nullptr || local_step_ == 0 || last == (global_step_ % periodic.every == 0)) return OkStatus();
  return session.RunStep([&](Session& plain) {
    const Session::Feeds none;
    return plain.Run(none, {}, {periodic.op->name()}, &fetched_);
  });
}

void Trainer::Fill(Batches& batches) {
  fed_.clear();  // lets go of the batch, whose memory is used again
  batches.Next(&batch_);
  callables_->TakeFeeds(batch_, &fed_);
}

Status Trainer::PlainStep(MonitoredSession& session) {
  RETURN_IF_ERROR(session.RunStep([this](Session& plain) { return callables_->Train(plain, fed_, &fetched_); }));
  ++local_step_;
  global_step_ = fetched_[0].scalar<int64_t>();
  return OkStatus();
}

Status Trainer::WatchedStep(MonitoredSession& session) {
  const std::vector<std::string> names = callables_->FeedNames();
  Session::Feeds feeds;
  for (size_t i = 0; i < names.size(); ++i) feeds.emplace_back(names[i], fed_[i]);
  RETURN_IF_ERROR(session.Run(feeds, {graph_.step_after.name(), graph_.model.loss.name(), graph_.model.score.name()},
                              {}, &fetched_));
  ++local_step_;
  global_step_ = fetched_[0].scalar<int64_t>();
  if (last_reported_global_ < 0) last_reported_global_ = global_step_ - 1;  // the first step
  const double loss = fetched_[1].scalar<float>();
  if (!std::isfinite(loss)) {
    return errors::InvalidArgument("the loss is no longer a number at step ", global_step_,
                                   "; a smaller --learning_rate than ", options_.learning_rate, " may help");
  }
  Smooth(loss, &smooth_loss_);
  Smooth(fetched_[2].scalar<float>(), &smooth_score_);
  const Clock::time_point now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - last_watched_).count();
  const double each = seconds / static_cast<double>(local_step_ - last_watched_step_);
  watch_every_ = std::clamp<int64_t>(static_cast<int64_t>(kWatchSecs / std::max(each, 1e-6)), 1, 100);
  last_watched_ = now;
  last_watched_step_ = local_step_;
  Report(loss, fetched_[2].scalar<float>());
  return OkStatus();
}

void Trainer::Report(double loss, double score) {
  if (events_ != nullptr && (last_written_step_ < 0 || global_step_ - last_written_step_ >= kWriteSteps)) {
    last_written_step_ = global_step_;
    events_->AddScalar("loss", static_cast<float>(loss), global_step_);
    events_->AddScalar(data_.classes > 0 ? "accuracy" : "r2", static_cast<float>(score), global_step_);
  }
  const double seconds = std::chrono::duration<double>(last_watched_ - last_reported_).count();
  if (local_step_ == 1 || seconds >= kReportSecs || Finished()) ReportProgress();
}

void Trainer::ReportProgress() {
  const Clock::time_point now = Clock::now();
  const double seconds = std::max(std::chrono::duration<double>(now - last_reported_).count(), 1e-6);
  TrainEvent event;
  event.kind = TrainEvent::Kind::kProgress;
  event.classes = data_.classes > 0;
  event.global_step = global_step_;
  event.local_step = local_step_;
  event.loss = smooth_loss_;
  event.score = smooth_score_;
  event.steps_per_sec = static_cast<double>(local_step_ - last_reported_step_) / seconds;
  log_.Say(std::move(event));
  const bool warm_up = local_step_ == 1 && !Finished();  // mostly the making of plans
  if (events_ != nullptr && !warm_up) {
    const double rate = static_cast<double>(global_step_ - last_reported_global_) / seconds;
    events_->AddScalar("global_step/sec", static_cast<float>(rate), global_step_);
  }
  last_reported_ = now;
  last_reported_step_ = local_step_;
  last_reported_global_ = global_step_;
}

// The writer of an evaluation's event file tells the status page by itself.
void Trainer::ReportEvaluation(const std::string& tag, double value) {
  if (eval_events_ != nullptr)
    eval_events_->AddScalar(tag, static_cast<float>(value), global_step_);
  else
    EvaluationResults::OfProcess().Report({"eval", tag, value, global_step_});
}

Status Trainer::Evaluate(MonitoredSession& session) {
  const int64_t size = data_.test.size();
  if (size == 0) return OkStatus();
  double loss = 0, score = 0;
  for (int64_t begin = 0; begin < size && !stop_; begin += kEvalBatch) {
    const int64_t end = std::min(begin + kEvalBatch, size);
    std::vector<Tensor> feeds, out;
    callables_->TakeFeeds(TakeBatch(data_.test, begin, end), &feeds);
    RETURN_IF_ERROR(session.RunStep([&](Session& plain) { return callables_->Evaluate(plain, feeds, &out); }));
    const double weight = static_cast<double>(end - begin) / static_cast<double>(size);
    loss += weight * out[0].scalar<float>();
    score += weight * out[1].scalar<float>();
  }
  if (stop_) return OkStatus();
  TrainEvent event;
  event.kind = TrainEvent::Kind::kEval;
  event.classes = data_.classes > 0;
  event.global_step = global_step_;
  event.examples = size;
  event.loss = loss;
  event.score = score;
  log_.Say(std::move(event));
  ReportEvaluation("loss", loss);
  ReportEvaluation(data_.classes > 0 ? "accuracy" : "r2", score);
  return OkStatus();
}

}  // namespace millstream::cli
