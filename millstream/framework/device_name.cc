// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/device_name.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace millstream {
namespace {

Status Malformed(absl::string_view name) {
  return errors::InvalidArgument("Malformed device specification '", name, "'");
}

bool ParseIndex(absl::string_view text, std::optional<int>* out) {
  if (text == "*") return true;
  int value = 0;
  if (!absl::SimpleAtoi(text, &value) || value < 0) return false;
  *out = value;
  return true;
}

bool IsJobName(absl::string_view text) {
  if (text.empty() || !absl::ascii_isalpha(text[0])) return false;
  for (const char c : text)
    if (!absl::ascii_isalnum(c) && c != '_') return false;
  return true;
}

// "CPU:0", "GPU:*", "GPU".
bool ParseTypeAndIndex(const std::vector<absl::string_view>& fields, size_t first, DeviceName* out) {
  if (fields.size() <= first || fields.size() > first + 2 || fields[first].empty()) return false;
  if (fields[first] != "*") out->type = absl::AsciiStrToUpper(fields[first]);
  return fields.size() == first + 1 || ParseIndex(fields[first + 1], &out->index);
}

bool ParsePart(absl::string_view part, DeviceName* out) {
  const std::vector<absl::string_view> fields = absl::StrSplit(part, ':');
  const std::string key = absl::AsciiStrToLower(fields[0]);
  if (key == "job" && fields.size() == 2) {
    if (fields[1] == "*") return true;
    if (!IsJobName(fields[1])) return false;
    out->job = std::string(fields[1]);
    return true;
  }
  if (key == "replica" && fields.size() == 2) return ParseIndex(fields[1], &out->replica);
  if (key == "task" && fields.size() == 2) return ParseIndex(fields[1], &out->task);
  if (key == "device") return ParseTypeAndIndex(fields, 1, out);
  if (key == "cpu" || key == "gpu" || key == "tpu") return ParseTypeAndIndex(fields, 0, out);
  return false;
}

template <typename T>
bool Fits(const std::optional<T>& wanted, const std::optional<T>& given) {
  return !wanted || wanted == given;
}

template <typename T>
Status MergePart(std::optional<T>* mine, const std::optional<T>& other, const char* part, bool soft) {
  if (!other) return OkStatus();
  if (!*mine) {
    *mine = other;
  } else if (*mine != other) {
    if (!soft)
      return errors::InvalidArgument("Cannot merge devices with incompatible ", part, "s: ", **mine, " and ", *other);
    mine->reset();
  }
  return OkStatus();
}

}  // namespace

StatusOr<DeviceName> DeviceName::Parse(absl::string_view name) {
  DeviceName parsed;
  if (name.empty() || name == "/") return parsed;
  absl::string_view rest = name;
  if (rest[0] == '/') rest.remove_prefix(1);
  for (absl::string_view part : absl::StrSplit(rest, '/')) {
    if (!ParsePart(part, &parsed)) return Malformed(name);
  }
  return parsed;
}

std::string DeviceName::ToString() const {
  std::string out;
  if (job) absl::StrAppend(&out, "/job:", *job);
  if (replica) absl::StrAppend(&out, "/replica:", *replica);
  if (task) absl::StrAppend(&out, "/task:", *task);
  if (type) {
    absl::StrAppend(&out, "/device:", *type, ":");
    if (index)
      absl::StrAppend(&out, *index);
    else
      out += "*";
  }
  return out;
}

bool DeviceName::Matches(const DeviceName& device) const {
  return Fits(job, device.job) && Fits(replica, device.replica) && Fits(task, device.task) && Fits(type, device.type) &&
         Fits(index, device.index);
}

void DeviceName::FillFrom(const DeviceName& other) {
  if (!job) job = other.job;
  if (!replica) replica = other.replica;
  if (!task) task = other.task;
  if (!type) type = other.type;
  if (!index) index = other.index;
}

Status DeviceName::MergeWith(const DeviceName& other, bool allow_soft) {
  RETURN_IF_ERROR(MergePart(&job, other.job, "job", false));
  RETURN_IF_ERROR(MergePart(&replica, other.replica, "replica", false));
  RETURN_IF_ERROR(MergePart(&task, other.task, "task", false));
  RETURN_IF_ERROR(MergePart(&type, other.type, "type", allow_soft));
  return MergePart(&index, other.index, "id", allow_soft);
}

}  // namespace millstream
