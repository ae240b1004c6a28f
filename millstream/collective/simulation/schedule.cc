// SPDX-License-Identifier: Apache-2.0
#include "millstream/collective/simulation/schedule.h"

#include <cstring>
#include <map>
#include <utility>

namespace millstream::collective {
namespace {

// Writes down what is sent and awaited. Messages that are awaited have always just come, and are zeros.
class RecordingTransport final : public Transport {
 public:
  explicit RecordingTransport(Schedule* schedule) : schedule_(*schedule) {}

  void Send(int to, uint64_t tag, const void*, size_t bytes) override {
    schedule_.push_back({ScheduleStep::Kind::kSend, to, tag, bytes});
  }
  void Expect(int from, uint64_t tag, void* into, size_t bytes) override { expected_[{from, tag}] = {into, bytes}; }
  Status Await(int from, uint64_t tag, Deadline) override {
    const auto expected = expected_.find({from, tag});
    if (expected == expected_.end()) return errors::Internal("A message from rank ", from, " was not expected");
    const auto [into, bytes] = expected->second;
    std::memset(into, 0, bytes);  // forming a group looks at what comes: nobody shares memory
    schedule_.push_back({ScheduleStep::Kind::kAwait, from, tag, bytes});
    expected_.erase(expected);
    return OkStatus();
  }
  Status AwaitSent(Deadline) override {
    schedule_.push_back({ScheduleStep::Kind::kAwaitSent, 0, 0, 0});
    return OkStatus();
  }
  void Abort(const Status& why, bool) override {
    if (status_.ok()) status_ = why;
  }
  Status status() const override { return status_; }
  void OnAbort(std::function<void(const Status&)>) override {}
  void Enter(uint64_t) override {}
  void Publish(std::string) override {}
  std::vector<RankState> States(Deadline) override { return {}; }

 private:
  Schedule& schedule_;
  std::map<std::pair<int, uint64_t>, std::pair<void*, size_t>> expected_;
  Status status_;
};

}  // namespace

StatusOr<std::vector<Schedule>> RecordSchedules(const std::vector<int>& hosts, Algorithm algorithm,
                                                const std::function<Status(Group&)>& body) {
  std::vector<Member> members;
  for (size_t i = 0; i < hosts.size(); ++i) {
    members.push_back({absl::StrCat("worker:", i), "", absl::StrCat("host", hosts[i])});
  }
  GroupOptions options;
  options.name = "simulation";
  options.shared_memory = false;
  options.algorithm = algorithm;
  std::vector<Schedule> schedules(hosts.size());
  for (size_t rank = 0; rank < hosts.size(); ++rank) {
    ASSIGN_OR_RETURN(
        const std::unique_ptr<Group> group,
        Group::Make(members, static_cast<int>(rank), std::make_unique<RecordingTransport>(&schedules[rank]), options));
    schedules[rank].clear();  // what forming the group has sent
    RETURN_IF_ERROR(body(*group));
  }
  return schedules;
}

StatusOr<std::vector<Schedule>> RecordAllReduce(const std::vector<int>& hosts, Algorithm algorithm, uint64_t bytes) {
  std::vector<float> data(bytes / sizeof(float), 0.f);
  return RecordSchedules(hosts, algorithm, [&](Group& group) {
    return group.AllReduce(data.data(), static_cast<int64_t>(data.size()), DType::kFloat, ReduceOp::kSum);
  });
}

StatusOr<std::vector<Schedule>> RecordBroadcast(const std::vector<int>& hosts, uint64_t bytes, int root) {
  std::vector<char> data(bytes, 0);
  return RecordSchedules(hosts, Algorithm::kAuto,
                         [&](Group& group) { return group.Broadcast(data.data(), data.size(), root); });
}

}  // namespace millstream::collective
