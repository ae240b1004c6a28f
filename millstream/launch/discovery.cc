// SPDX-License-Identifier: Apache-2.0
#include "millstream/launch/discovery.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace millstream::launch {
namespace {

constexpr std::chrono::seconds kPatience{10}, kPause{1};
constexpr size_t kMostOutput = size_t{64} << 10;

bool IsThisHost(absl::string_view host) {
  std::array<char, 256> name = {};
  gethostname(name.data(), name.size() - 1);
  return host == "localhost" || host == "127.0.0.1" || host == "::1" || host == name.data();
}

void ReadInto(int fd, std::string* text) {
  std::array<char, 4096> buffer;
  for (ssize_t got; fd >= 0 && (got = read(fd, buffer.data(), buffer.size())) > 0;) {
    text->append(buffer.data(), std::min(static_cast<size_t>(got), kMostOutput - std::min(kMostOutput, text->size())));
  }
}

}  // namespace

Discovery::~Discovery() {
  if (!child_) return;
  kill(-child_->pid, SIGKILL);
  waitpid(child_->pid, nullptr, 0);
  Close();
}

ProcessSpec Discovery::Spec() const {
  ProcessSpec spec;
  spec.name = "discovery";
  spec.command = {"sh", "-c", script_};
  return spec;
}

StatusOr<int> Discovery::SlotsIn(const std::string& output) {
  int slots = 0;
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) continue;
    const size_t colon = line.rfind(':');
    int here = 1;
    if (colon != absl::string_view::npos &&
        (!absl::SimpleAtoi(line.substr(colon + 1), &here) || here < 0 || here > 2000)) {
      return errors::InvalidArgument("--discovery: '", line, "' is not HOST:SLOTS");
    }
    if (!IsThisHost(line.substr(0, colon))) {
      return errors::InvalidArgument("--discovery: ", line.substr(0, colon),
                                     " is another host; workers of elastic jobs run on this one");
    }
    slots += here;
  }
  return slots;
}

StatusOr<int> Discovery::First() {
  ASSIGN_OR_RETURN(const Captured captured, RunToEnd(Spec(), Clock::now() + kPatience));
  if (captured.exit_code != 0) {
    const std::string how = captured.exit_code < 0 ? absl::StrCat("takes longer than ", kPatience.count(), " s")
                                                   : absl::StrCat("ends with exit code ", captured.exit_code);
    return errors::InvalidArgument("--discovery: ", script_, " ", how, ": ", absl::StripAsciiWhitespace(captured.err));
  }
  ASSIGN_OR_RETURN(slots_, SlotsIn(captured.out));
  next_ = Clock::now() + kPause;
  return slots_;
}

void Discovery::Read() {
  ReadInto(child_->out, &out_);
  ReadInto(child_->err, &err_);
}

void Discovery::Close() {
  for (int fd : {child_->in, child_->out, child_->err}) {
    if (fd >= 0) close(fd);
  }
  child_.reset();
}

StatusOr<int> Discovery::Ended(int wait_status) {
  Read();
  Close();
  next_ = Clock::now() + kPause;
  if (ExitCodeOf(wait_status) != 0) {
    return errors::FailedPrecondition("--discovery: ", script_, ": ", DescribeEnd(wait_status), ": ",
                                      absl::StripAsciiWhitespace(err_));
  }
  return SlotsIn(out_);
}

int Discovery::Poll(const OnNote& on_note) {
  const auto now = Clock::now();
  if (!child_) {
    if (now < next_) return slots_;
    StatusOr<Child> child = StartChild(Spec());
    next_ = now + kPause;
    if (!child.ok()) return slots_;
    child_ = *std::move(child);
    out_.clear();
    err_.clear();
    kill_at_ = now + kPatience;
    return slots_;
  }
  Read();
  if (now >= kill_at_) kill(-child_->pid, SIGKILL);
  int wait_status = 0;
  if (waitpid(child_->pid, &wait_status, WNOHANG) != child_->pid) return slots_;
  const StatusOr<int> slots = Ended(wait_status);
  if (slots.ok()) {
    slots_ = *slots;
    noted_.clear();
  } else if (noted_ != slots.status().message()) {
    noted_ = std::string(slots.status().message());
    on_note(absl::StrCat(noted_, "; going on with ", slots_, " slots"));
  }
  return slots_;
}

}  // namespace millstream::launch
