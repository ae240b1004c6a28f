// SPDX-License-Identifier: Apache-2.0
#include "millstream/io/event_writer.h"

#include <unistd.h>

#include <chrono>

#include "absl/strings/str_format.h"
#include "millstream/proto/event.pb.h"

namespace millstream {
namespace {

double Now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

std::string HostName() {
  char name[256] = {};
  if (gethostname(name, sizeof(name) - 1) != 0) return "localhost";
  return name;
}

}  // namespace

EventWriter::EventWriter(std::string folder, std::string suffix)
    : folder_(std::move(folder)), suffix_(std::move(suffix)) {}

EventWriter::~EventWriter() { Close().IgnoreError(); }

std::string EventWriter::path() const {
  MutexLock lock(mu_);
  return path_;
}

Status EventWriter::Open() {
  if (closed_) return errors::FailedPrecondition("The event file is closed");
  if (file_ != nullptr) return OkStatus();
  if (!folder_.empty()) RETURN_IF_ERROR(MakeFolders(folder_));
  const double now = Now();
  const std::string name =
      absl::StrFormat("events.out.tfevents.%010d.%s%s", static_cast<int64_t>(now), HostName(), suffix_);
  const std::string base = folder_.empty() ? name : absl::StrCat(folder_, "/", name);
  std::string path = base;
  for (int i = 1; FileExists(path); ++i) path = absl::StrCat(base, ".", i);
  ASSIGN_OR_RETURN(file_, RecordWriter::Create(path));
  path_ = path;
  proto::Event first;
  first.set_wall_time(now);
  first.set_file_version("brain.Event:2");
  return Append(first);
}

Status EventWriter::Append(const proto::Event& event) {
  std::string bytes;
  if (!event.SerializeToString(&bytes)) return errors::InvalidArgument("The event is too large");
  return file_->Write(bytes);
}

Status EventWriter::Write(proto::Event event) {
  if (event.wall_time() == 0) event.set_wall_time(Now());
  MutexLock lock(mu_);
  RETURN_IF_ERROR(Open());
  return Append(event);
}

Status EventWriter::WriteSummary(absl::string_view summary, int64_t step) {
  proto::Event event;
  if (!event.mutable_summary()->ParseFromArray(summary.data(), static_cast<int>(summary.size()))) {
    return errors::InvalidArgument("Not a serialized summary");
  }
  event.set_step(step);
  return Write(std::move(event));
}

Status EventWriter::WriteGraph(std::string graph) {
  proto::Event event;
  event.set_graph_def(std::move(graph));
  return Write(std::move(event));
}

Status EventWriter::Flush() {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(Open());
  return file_->Flush();
}

Status EventWriter::Close() {
  MutexLock lock(mu_);
  if (closed_) return OkStatus();
  closed_ = true;
  return file_ == nullptr ? OkStatus() : file_->Close();
}

}  // namespace millstream
