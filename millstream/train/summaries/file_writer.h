// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_SUMMARIES_FILE_WRITER_H_
#define MILLSTREAM_TRAIN_SUMMARIES_FILE_WRITER_H_

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "millstream/base/mutex.h"
#include "millstream/graph/graph.h"
#include "millstream/io/event_writer.h"

namespace millstream {

namespace proto {
class Event;
class RunMetadata;
class SessionLog;
class Summary;
}  // namespace proto

struct FileWriterOptions {
  size_t max_queue = 10;    // events that wait; beyond it, callers wait
  double flush_secs = 120;  // what was written is on disk after that time at the latest
  std::string filename_suffix;
};

// Writes summaries, graphs and metadata of runs to an event file that TensorBoard reads: tf.summary.FileWriter. A
// thread writes, so that training does not wait for the disk. What cannot be written is reported once in the log;
// training goes on without it. Scalars for the folder of an evaluation are reported as its results
// (framework/monitoring/evaluation_results.h) as well. Thread-safe.
class FileWriter {
 public:
  using Step = std::optional<int64_t>;

  // InvalidArgument if there is no folder's name.
  static StatusOr<std::shared_ptr<FileWriter>> Make(const std::string& folder, FileWriterOptions options = {});
  // The one of this process for that folder: hooks share it. It is closed when nobody holds it any more.
  static StatusOr<std::shared_ptr<FileWriter>> Shared(const std::string& folder);
  ~FileWriter();  // closes

  // A serialized Summary, as summary ops give it; InvalidArgument if it is not one.
  Status AddSummary(absl::string_view summary, Step step = std::nullopt);
  void AddSummary(const proto::Summary& summary, Step step = std::nullopt);
  void AddScalar(const std::string& tag, float value, Step step = std::nullopt);
  Status AddGraph(const Graph& graph, Step step = std::nullopt);
  void AddMetaGraph(std::string serialized, Step step = std::nullopt);
  // InvalidArgument if the tag was used before.
  Status AddRunMetadata(const proto::RunMetadata& metadata, const std::string& tag, Step step = std::nullopt);
  void AddSessionLog(const proto::SessionLog& log, Step step = std::nullopt);
  // A closed writer drops it, with a warning.
  void AddEvent(proto::Event event);

  // Returns when everything added before is with the operating system. The first error that there was.
  Status Flush();
  Status Close();
  // After Close(): goes on in a new file.
  void Reopen();
  const std::string& folder() const { return folder_; }

 private:
  FileWriter(std::string folder, FileWriterOptions options);
  void Start() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WriteEvents(EventWriter* writer);
  void Report(const Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ReportScalars(const proto::Event& event) const;

  const std::string folder_;
  const std::string evaluation_run_;  // "": the folder is not one of an evaluation
  const FileWriterOptions options_;
  Mutex lifecycle_mu_;  // of Close() and Reopen()
  Mutex mu_;
  CondVar changed_;
  std::vector<proto::Event> queue_ ABSL_GUARDED_BY(mu_);
  int64_t flushes_asked_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t flushes_done_ ABSL_GUARDED_BY(mu_) = 0;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  Status error_ ABSL_GUARDED_BY(mu_);
  std::set<std::string> described_tags_ ABSL_GUARDED_BY(mu_);  // a tag's metadata are needed once
  std::set<std::string> run_tags_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<EventWriter> writer_;  // of the thread
  std::thread thread_;
};

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_SUMMARIES_FILE_WRITER_H_
