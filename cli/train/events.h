// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_CLI_TRAIN_EVENTS_H_
#define MILLSTREAM_CLI_TRAIN_EVENTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace millstream::cli {

// What a task of `millstream train` says while it works: one JSON object per line with --json (docs/train.md lists
// them), one line for people without. The command that started the tasks reads the former.
struct TrainEvent {
  enum class Kind {
    kStarted,      // the server listens: pid, target, status_page
    kData,         // what was read: text, examples, label, categories
    kVariables,    // where the variables are: bytes
    kRestored,     // training goes on from a checkpoint: path
    kKept,         // training goes on with live variables; the checkpoint `path` was not restored
    kNothingToDo,  // the last step was reached before: global_step, path
    kProgress,     // while training: global_step, local_step, steps_per_sec, loss, score
    kEval,         // global_step, loss, score over `examples` test examples
    kSaved,        // global_step, path of the checkpoint
    kNote,         // anything else worth a line: text
    kError,        // why the task fails: text
    kDone,         // the worker has done its part: global_step, local_step
  };
  Kind kind = Kind::kNote;
  std::string task;  // "worker:0"
  int64_t pid = 0;
  int64_t global_step = -1;
  int64_t local_step = -1;
  double steps_per_sec = -1;
  double loss = -1;
  double score = -1;  // accuracy, or R2 where values are predicted
  int64_t examples = -1;
  std::string path, target, status_page, text, label;
  std::vector<std::string> categories;
  std::map<std::string, int64_t> bytes;  // of variables, by ps task
  bool classes = true;                   // what `score` is
};

std::string EventToJson(const TrainEvent& event);
// None if the line is not one.
std::optional<TrainEvent> EventFromJson(absl::string_view line);
// For people; "" where nothing is to be said.
std::string EventToText(const TrainEvent& event);
// "accuracy 97.81 %" or "R2 0.913".
std::string ScoreText(double score, bool classes);
// 12345 as "12,345".
std::string WithCommas(int64_t number);
// "318.1 KB".
std::string BytesText(int64_t bytes);

}  // namespace millstream::cli

#endif  // MILLSTREAM_CLI_TRAIN_EVENTS_H_
