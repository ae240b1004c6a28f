// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_IO_EVENT_WRITER_H_
#define MILLSTREAM_IO_EVENT_WRITER_H_

#include <memory>
#include <string>

#include "millstream/base/mutex.h"
#include "millstream/io/record_writer.h"

namespace millstream {

namespace proto {
class Event;
}

// Writes an event file that TensorBoard reads: records of Event, in `folder`, named
// events.out.tfevents.<time>.<host><suffix>. The file appears with the first event or Flush(). Thread-safe.
class EventWriter {
 public:
  explicit EventWriter(std::string folder, std::string suffix = "");
  ~EventWriter();
  // Events without a wall time get the present one.
  Status Write(proto::Event event);
  // A serialized Summary, as summary ops give it. InvalidArgument if it is not one.
  Status WriteSummary(absl::string_view summary, int64_t step);
  // A serialized GraphDef.
  Status WriteGraph(std::string graph);
  Status Flush();
  Status Close();
  std::string path() const;  // "" before the file appears

 private:
  Status Open() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status Append(const proto::Event& event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  const std::string folder_;
  const std::string suffix_;
  mutable Mutex mu_;
  std::string path_ ABSL_GUARDED_BY(mu_);
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  std::unique_ptr<RecordWriter> file_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millstream

#endif  // MILLSTREAM_IO_EVENT_WRITER_H_
