// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/collective/group_note.h"

#include "absl/strings/numbers.h"
#include "millstream/distributed/wire/protocol.h"
#include "millstream/distributed/wire/wire_tensor.h"

namespace millstream {
namespace {

constexpr size_t kMaxBytes = size_t{4} << 20, kMaxWords = 1 << 16;
constexpr size_t kFewestWords[] = {0, 2, 1, GroupNote::kWordsPerReady, GroupNote::kWordsPerRun, 2, 1, 2, 2};

bool HasEnoughWords(const GroupNote& note) {
  if (note.kind < GroupNote::kJoin || note.kind > GroupNote::kMissing) return false;
  if (note.kind == GroupNote::kReady && note.words.size() % GroupNote::kWordsPerReady != 0) return false;
  if (note.kind == GroupNote::kRun && note.words.size() % GroupNote::kWordsPerRun != 0) return false;
  return note.words.size() >= kFewestWords[note.kind];
}

}  // namespace

absl::StatusCode StatusCodeFromWord(absl::string_view word) {
  int code = 0;
  if (!absl::SimpleAtoi(word, &code) || code < 0 || code > 16) return absl::StatusCode::kAborted;
  return static_cast<absl::StatusCode>(code);
}

GroupNote GroupNote::Failure(std::string group, uint64_t epoch, const Status& why) {
  return {kFail, epoch, std::move(group), {absl::StrCat(static_cast<int>(why.code())), std::string(why.message())}};
}

Status GroupNote::failure() const {
  const absl::StatusCode code = StatusCodeFromWord(words[0]);
  return Status(code == absl::StatusCode::kOk ? absl::StatusCode::kAborted : code, words[1]);
}

Frame GroupNote::ToFrame() const {
  Frame frame;
  frame.kind = kCollectiveGroup;
  frame.edge = kind;
  frame.tag = epoch;
  AppendBytes(group, &frame.body);
  for (const std::string& word : words) AppendBytes(word, &frame.body);
  return frame;
}

StatusOr<GroupNote> GroupNote::FromFrame(const Frame& frame) {
  if (frame.body.size() > kMaxBytes) return errors::InvalidArgument("A note about a collective group is too large");
  GroupNote note;
  note.kind = frame.edge;
  note.epoch = frame.tag;
  absl::string_view rest = frame.body, bytes;
  bool good = ConsumeBytes(&rest, &bytes);
  note.group = std::string(bytes);
  while (good && !rest.empty()) {
    good = ConsumeBytes(&rest, &bytes) && note.words.size() < kMaxWords;
    if (good) note.words.emplace_back(bytes);
  }
  if (!good || !HasEnoughWords(note)) return errors::InvalidArgument("A malformed note about a collective group");
  return note;
}

}  // namespace millstream
