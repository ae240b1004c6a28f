// SPDX-License-Identifier: Apache-2.0
// Who forms the next epoch of a group that has lost a member.
#include <algorithm>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "millstream/collective/group.h"

namespace millstream::collective {
namespace {

using std::chrono::steady_clock;

// What ranks publish: that they want to go on, and what the first of them has decided.
constexpr absl::string_view kReady = "ready", kDecided = "decided:";
constexpr auto kAskEvery = std::chrono::milliseconds(2);
constexpr auto kAskPatience = std::chrono::milliseconds(500);

bool IsReady(const Transport::RankState& state) { return state.answered && !state.gone && !state.note.empty(); }

bool AllAreReadyOrGone(const std::vector<Transport::RankState>& states) {
  return std::all_of(states.begin(), states.end(), [](const auto& state) { return state.gone || IsReady(state); });
}

std::vector<int> ReadyRanks(const std::vector<Transport::RankState>& states) {
  std::vector<int> ready;
  for (size_t i = 0; i < states.size(); ++i) {
    if (IsReady(states[i])) ready.push_back(static_cast<int>(i));
  }
  return ready;
}

// The decision in a note; empty if there is none or it makes no sense.
std::vector<int> DecisionIn(absl::string_view note, int ranks) {
  std::vector<int> decision;
  if (!absl::ConsumePrefix(&note, kDecided)) return decision;
  for (const absl::string_view number : absl::StrSplit(note, ',')) {
    int rank = -1;
    if (!absl::SimpleAtoi(number, &rank) || rank < 0 || rank >= ranks) return {};
    if (!decision.empty() && rank <= decision.back()) return {};
    decision.push_back(rank);
  }
  return decision;
}

}  // namespace

// The first of those who are ready decides, once all are or its patience ends; the others take over its decision. They
// wait longer than it, since theirs may have begun earlier.
StatusOr<std::vector<int>> Group::AgreeOnSurvivors(std::chrono::milliseconds patience) {
  if (status().ok()) return errors::FailedPrecondition("Group '", options_.name, "' has not been aborted");
  transport_->Publish(std::string(kReady));
  const Deadline decide_at = steady_clock::now() + patience, give_up_at = decide_at + patience + kAskPatience;
  for (;;) {
    const Deadline now = steady_clock::now();
    const std::vector<Transport::RankState> states = transport_->States(std::min(now + kAskPatience, give_up_at));
    for (const Transport::RankState& state : states) {
      std::vector<int> decision = state.answered ? DecisionIn(state.note, size()) : std::vector<int>();
      if (decision.empty()) continue;
      if (std::find(decision.begin(), decision.end(), rank_) != decision.end()) return decision;
    }
    std::vector<int> ready = ReadyRanks(states);
    const bool first = !ready.empty() && ready[0] == rank_;
    if (first && (AllAreReadyOrGone(states) || now >= decide_at)) {
      transport_->Publish(absl::StrCat(kDecided, absl::StrJoin(ready, ",")));
      return ready;
    }
    if (now >= give_up_at) {
      return errors::Unavailable("Group '", options_.name, "': no member of epoch ", epoch(),
                                 " has decided on the surviving members, or they exclude ",
                                 members_[size_t(rank_)].ToString());
    }
    std::this_thread::sleep_for(kAskEvery);
  }
}

}  // namespace millstream::collective
