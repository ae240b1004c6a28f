// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/summaries/file_writer.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "millstream/base/logging.h"
#include "millstream/framework/monitoring/evaluation_results.h"
#include "millstream/graph/import/export.h"
#include "millstream/proto/config.pb.h"
#include "millstream/proto/event.pb.h"
#include "millstream/proto/graph.pb.h"

namespace millstream {
namespace {

using Clock = std::chrono::steady_clock;

double Now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

proto::Event EventAt(FileWriter::Step step) {
  proto::Event event;
  event.set_wall_time(Now());
  if (step.has_value()) event.set_step(*step);
  return event;
}

struct SharedWriters {
  Mutex mu;
  std::map<std::string, std::weak_ptr<FileWriter>> by_folder ABSL_GUARDED_BY(mu);
  static SharedWriters& Global() {
    static auto* const writers = new SharedWriters;
    return *writers;
  }
};

}  // namespace

FileWriter::FileWriter(std::string folder, FileWriterOptions options)
    : folder_(std::move(folder)), evaluation_run_(EvaluationResults::RunOf(folder_)), options_(std::move(options)) {}

StatusOr<std::shared_ptr<FileWriter>> FileWriter::Make(const std::string& folder, FileWriterOptions options) {
  if (folder.empty()) return errors::InvalidArgument("A folder to log to is needed");
  RETURN_IF_ERROR(MakeFolders(folder));
  std::shared_ptr<FileWriter> writer(new FileWriter(folder, std::move(options)));
  MutexLock lock(writer->mu_);
  writer->Start();
  return writer;
}

StatusOr<std::shared_ptr<FileWriter>> FileWriter::Shared(const std::string& folder) {
  SharedWriters& writers = SharedWriters::Global();
  MutexLock lock(writers.mu);
  std::weak_ptr<FileWriter>& entry = writers.by_folder[folder];
  std::shared_ptr<FileWriter> found = entry.lock();
  if (found != nullptr) {
    found->Reopen();
    return found;
  }
  ASSIGN_OR_RETURN(found, Make(folder));
  entry = found;
  return found;
}

FileWriter::~FileWriter() { Close().IgnoreError(); }

void FileWriter::Start() {
  closed_ = false;
  writer_ = std::make_unique<EventWriter>(folder_, options_.filename_suffix);
  thread_ = std::thread([this, writer = writer_.get()] { WriteEvents(writer); });
}

void FileWriter::Report(const Status& status) {
  if (status.ok()) return;
  if (error_.ok()) LogError(absl::StrCat("Events cannot be written: ", status.ToString()));
  if (error_.ok()) error_ = status;
}

void FileWriter::WriteEvents(EventWriter* writer) {
  const auto interval = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::clamp(options_.flush_secs, 0.0, 365.0 * 86400)));
  auto next_flush = Clock::now() + interval;
  bool wrote = false;
  MutexLock lock(mu_);
  while (true) {
    while (queue_.empty() && flushes_asked_ == flushes_done_ && !closed_ && Clock::now() < next_flush) {
      changed_.WaitUntil(mu_, next_flush);
    }
    std::vector<proto::Event> events = std::move(queue_);
    queue_.clear();
    changed_.NotifyAll();  // there is room again
    const int64_t flush = flushes_asked_;
    const bool close = closed_;
    const bool flush_now = flush != flushes_done_ || Clock::now() >= next_flush;
    mu_.Unlock();
    Status status;
    for (proto::Event& event : events) {
      status.Update(writer->Write(std::move(event)));
      wrote = true;
    }
    if (flush_now && wrote) status.Update(writer->Flush());  // a file without events does not appear
    if (flush_now) next_flush = Clock::now() + interval;
    if (close) status.Update(writer->Close());
    mu_.Lock();
    Report(status);
    flushes_done_ = std::max(flushes_done_, flush);
    changed_.NotifyAll();
    if (close) return;
  }
}

void FileWriter::ReportScalars(const proto::Event& event) const {
  if (evaluation_run_.empty()) return;
  for (const proto::Summary::Value& value : event.summary().value()) {
    if (!value.has_simple_value()) continue;
    EvaluationResults::OfProcess().Report({evaluation_run_, value.tag(), value.simple_value(), event.step()});
  }
}

void FileWriter::AddEvent(proto::Event event) {
  MutexLock lock(mu_);
  if (closed_) {
    LogWarning(
        "Attempting to use a closed FileWriter. The operation will be a noop unless the FileWriter is explicitly "
        "reopened.");
    return;
  }
  while (queue_.size() >= std::max<size_t>(options_.max_queue, 1) && !closed_) changed_.Wait(mu_);
  if (closed_) return;
  ReportScalars(event);
  queue_.push_back(std::move(event));
  changed_.NotifyAll();
}

Status FileWriter::AddSummary(absl::string_view summary, Step step) {
  proto::Summary message;
  if (!message.ParseFromArray(summary.data(), static_cast<int>(summary.size()))) {
    return errors::InvalidArgument("Not a serialized summary");
  }
  AddSummary(message, step);
  return OkStatus();
}

void FileWriter::AddSummary(const proto::Summary& summary, Step step) {
  proto::Event event = EventAt(step);
  *event.mutable_summary() = summary;
  {
    MutexLock lock(mu_);
    for (proto::Summary::Value& value : *event.mutable_summary()->mutable_value()) {
      if (value.has_metadata() && !described_tags_.insert(value.tag()).second) value.clear_metadata();
    }
  }
  AddEvent(std::move(event));
}

void FileWriter::AddScalar(const std::string& tag, float value, Step step) {
  proto::Summary summary;
  summary.add_value()->set_tag(tag);
  summary.mutable_value(0)->set_simple_value(value);
  AddSummary(summary, step);
}

Status FileWriter::AddGraph(const Graph& graph, Step step) {
  proto::GraphDef def;
  RETURN_IF_ERROR(ExportGraph(graph, &def));
  proto::Event event = EventAt(step);
  if (!def.SerializeToString(event.mutable_graph_def()))
    return errors::InvalidArgument("The graph is too large for an event");
  AddEvent(std::move(event));
  return OkStatus();
}

void FileWriter::AddMetaGraph(std::string serialized, Step step) {
  proto::Event event = EventAt(step);
  event.set_meta_graph_def(std::move(serialized));
  AddEvent(std::move(event));
}

Status FileWriter::AddRunMetadata(const proto::RunMetadata& metadata, const std::string& tag, Step step) {
  {
    MutexLock lock(mu_);
    if (!run_tags_.insert(tag).second) {
      return errors::InvalidArgument("The provided tag was already used for this event type: ", tag);
    }
  }
  proto::Event event = EventAt(step);
  event.mutable_tagged_run_metadata()->set_tag(tag);
  event.mutable_tagged_run_metadata()->set_run_metadata(metadata.SerializeAsString());
  AddEvent(std::move(event));
  return OkStatus();
}

void FileWriter::AddSessionLog(const proto::SessionLog& log, Step step) {
  proto::Event event = EventAt(step);
  *event.mutable_session_log() = log;
  AddEvent(std::move(event));
}

Status FileWriter::Flush() {
  MutexLock lock(mu_);
  if (closed_) return error_;
  const int64_t flush = ++flushes_asked_;
  changed_.NotifyAll();
  while (flushes_done_ < flush && !closed_) changed_.Wait(mu_);
  return error_;
}

Status FileWriter::Close() {
  MutexLock lifecycle(lifecycle_mu_);
  {
    MutexLock lock(mu_);
    closed_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
  MutexLock lock(mu_);
  return error_;
}

void FileWriter::Reopen() {
  MutexLock lifecycle(lifecycle_mu_);
  MutexLock lock(mu_);
  if (closed_) Start();
}

}  // namespace millstream
