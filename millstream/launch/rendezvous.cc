// SPDX-License-Identifier: Apache-2.0
#include "millstream/launch/rendezvous.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <thread>

#include "absl/strings/str_join.h"
#include "millstream/base/file.h"
#include "millstream/base/random.h"

namespace millstream::launch {
namespace {

// The protocol. Each rank writes "rank-R": {id, text}. Rank 0 writes "meeting": {id, ids, texts, common} from all of
// them, and again whenever one changes, since what it read may be from an earlier run. A rank that finds its own id in
// it writes "here-R": {meeting}. When all have, rank 0 writes "go": {meeting}, and each rank answers with "took-R":
// {meeting}. Then rank 0 deletes "meeting", whose common word is the job's token. Words are "word-R": {meeting, word}.
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPause{50};
constexpr int64_t kLargest = 64 << 20;

// Null if the file is not there, or is no object.
Json Load(const std::string& path) {
  StatusOr<std::string> text = ReadFile(path, kLargest);
  if (!text.ok()) return nullptr;
  Json json = Json::parse(*text, nullptr, false);
  return json.is_object() ? json : Json(nullptr);
}

Status Store(const std::string& path, const Json& json) {
  return WriteFileAtomically(path, json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string TextOf(const Json& json, const char* name) {
  return json.is_object() && json.contains(name) && json[name].is_string() ? json[name].get<std::string>() : "";
}

Status CheckIsPrivate(const std::string& folder) {
  struct stat info = {};
  if (stat(folder.c_str(), &info) != 0) return ErrnoStatus(errno, folder);
  if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 077) != 0) {
    return errors::PermissionDenied(folder,
                                    " must be a folder that belongs to this user and that nobody else may enter (chmod "
                                    "700): it holds the job's token");
  }
  return OkStatus();
}

}  // namespace

StatusOr<Rendezvous> Rendezvous::Open(const std::string& folder, int rank, int size) {
  if (size < 1 || rank < 0 || rank >= size)
    return errors::InvalidArgument("rank ", rank, " is not between 0 and ", size - 1);
  RETURN_IF_ERROR(MakeFolders(FolderOf(folder)));
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return ErrnoStatus(errno, folder);
  RETURN_IF_ERROR(CheckIsPrivate(folder));
  Rendezvous rendezvous(folder, rank, size);
  rendezvous.id_ = absl::StrCat(absl::Hex(RandomNumber()));
  return rendezvous;
}

std::string Rendezvous::PathOf(const std::string& name, int rank) const {
  return absl::StrCat(folder_, "/", name, "-", rank);
}

StatusOr<Rendezvous::Meeting> Rendezvous::Meet(const std::string& text, const std::string& common,
                                               Clock::time_point deadline) {
  RETURN_IF_ERROR(Store(PathOf("rank", rank_), {{"id", id_}, {"text", text}}));
  return rank_ == 0 ? Gather(common, deadline) : AwaitRankZero(deadline);
}

StatusOr<Rendezvous::Meeting> Rendezvous::Gather(const std::string& common, Clock::time_point deadline) {
  StatusOr<Meeting> meeting = GatherAll(common, deadline);
  DeleteFile(absl::StrCat(folder_, "/meeting")).IgnoreError();  // whatever happened: it has the token
  return meeting;
}

StatusOr<Rendezvous::Meeting> Rendezvous::GatherAll(const std::string& common, Clock::time_point deadline) {
  Meeting meeting;
  meeting.common = common;
  std::vector<std::string> known;
  while (true) {
    std::vector<std::string> ids, texts;
    std::vector<int> missing, silent;
    for (int rank = 0; rank < size_; ++rank) {
      const Json json = Load(PathOf("rank", rank));
      if (json.is_null()) missing.push_back(rank);
      ids.push_back(TextOf(json, "id"));
      texts.push_back(TextOf(json, "text"));
    }
    if (missing.empty() && ids != known) {
      known = ids;
      meeting.texts = texts;
      meeting_ = absl::StrCat(absl::Hex(RandomNumber()));
      RETURN_IF_ERROR(Store(absl::StrCat(folder_, "/meeting"),
                            {{"id", meeting_}, {"ids", ids}, {"texts", texts}, {"common", common}}));
    }
    if (missing.empty()) silent = Silent("here");
    if (missing.empty() && silent.empty()) break;
    if (Clock::now() >= deadline) {
      return errors::DeadlineExceeded("of ", size_, " ranks, these did not arrive at ", folder_, ": ",
                                      absl::StrJoin(missing.empty() ? silent : missing, ", "),
                                      ". Is this folder shared by all hosts? Choose another with --rendezvous");
    }
    std::this_thread::sleep_for(kPause);
  }
  RETURN_IF_ERROR(Store(absl::StrCat(folder_, "/go"), {{"meeting", meeting_}}));
  for (std::vector<int> silent = Silent("took"); !silent.empty(); silent = Silent("took")) {
    if (Clock::now() >= deadline) {
      return errors::DeadlineExceeded("of ", size_, " ranks, these have come to ", folder_,
                                      " and left again: ", absl::StrJoin(silent, ", "));
    }
    std::this_thread::sleep_for(kPause);
  }
  return meeting;
}

std::vector<int> Rendezvous::Silent(const std::string& name) const {
  std::vector<int> silent;
  for (int rank = 1; rank < size_; ++rank) {
    if (TextOf(Load(PathOf(name, rank)), "meeting") != meeting_) silent.push_back(rank);
  }
  return silent;
}

StatusOr<Rendezvous::Meeting> Rendezvous::AwaitRankZero(Clock::time_point deadline) {
  while (Clock::now() < deadline) {
    const Json json = Load(absl::StrCat(folder_, "/meeting"));
    const bool whole = json.is_object() && json.contains("ids") && json["ids"].is_array() && json.contains("texts") &&
                       json["texts"].is_array() && json["ids"].size() == static_cast<size_t>(size_) &&
                       json["texts"].size() == static_cast<size_t>(size_);
    if (whole && json["ids"][static_cast<size_t>(rank_)] == id_) {
      if (TextOf(json, "id") != meeting_) {
        meeting_ = TextOf(json, "id");
        RETURN_IF_ERROR(Store(PathOf("here", rank_), {{"meeting", meeting_}}));
      }
      if (TextOf(Load(absl::StrCat(folder_, "/go")), "meeting") == meeting_) {
        Meeting meeting;
        for (const Json& text : json["texts"]) meeting.texts.push_back(text.is_string() ? text.get<std::string>() : "");
        meeting.common = TextOf(json, "common");
        RETURN_IF_ERROR(Store(PathOf("took", rank_), {{"meeting", meeting_}}));
        return meeting;
      }
    }
    std::this_thread::sleep_for(kPause);
  }
  return errors::DeadlineExceeded("rank ", rank_, " has waited for rank 0 at ", folder_,
                                  ". Is this folder shared by all hosts? Choose another with --rendezvous");
}

Status Rendezvous::Say(const std::string& word) {
  return Store(PathOf("word", rank_), {{"meeting", meeting_}, {"word", word}});
}

std::map<int, std::string> Rendezvous::Words() const {
  std::map<int, std::string> words;
  for (int rank = 0; rank < size_; ++rank) {
    const Json json = Load(PathOf("word", rank));
    if (json.is_object() && TextOf(json, "meeting") == meeting_) words[rank] = TextOf(json, "word");
  }
  return words;
}

void Rendezvous::Remove() {
  for (const char* name : {"rank", "here", "took", "word"}) {
    for (int rank = 0; rank < size_; ++rank) unlink(PathOf(name, rank).c_str());
  }
  for (const char* name : {"/meeting", "/go"}) unlink(absl::StrCat(folder_, name).c_str());
  rmdir(folder_.c_str());
}

}  // namespace millstream::launch
