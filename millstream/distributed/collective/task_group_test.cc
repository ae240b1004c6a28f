// SPDX-License-Identifier: Apache-2.0
#include "millstream/distributed/collective/task_group.h"

#include <gtest/gtest.h>

#include "millstream/base/notification.h"
#include "millstream/base/thread_pool.h"
#include "millstream/collective/transport/thread_transport.h"
#include "millstream/tensor/tensor.h"

namespace millstream {
namespace {

const std::vector<std::string> kTasks = {"/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1"};

std::string MemberOf(const std::string& task) { return task + "/device:CPU:0"; }

// Two tasks of one process that add up a number each.
class TwoTasks {
 public:
  using Finish = std::function<void(size_t task, const Status& status, const std::vector<Tensor>& outputs)>;

  explicit TwoTasks(Finish finish) : finish_(std::move(finish)) {
    const GroupLayout layout = GroupLayout::Of({MemberOf(kTasks[0]), kTasks[0], MemberOf(kTasks[1]), kTasks[1]});
    for (size_t i = 0; i < 2; ++i)
      groups_[i] = std::make_unique<TaskGroup>("sum", 1, 2, layout, kTasks[i], CallbacksOf(i));
    for (const auto& group : groups_) group->Start();
  }
  void Submit(size_t task, float value) {
    auto entry = std::make_shared<collective::OpEntry>();
    entry->request.group = "sum";
    entry->request.instance = "1";
    entry->request.group_size = 2;
    entry->request.member = MemberOf(kTasks[task]);
    entry->request.input = Tensor(DType::kFloat, Shape());
    entry->request.input.scalar<float>() = value;
    auto round = std::make_shared<collective::OpRound>();
    round->group = "sum";
    round->instance = "1";
    round->kind = collective::OpKind::kReduce;
    round->dtype = DType::kFloat;
    round->members = 1;
    round->entries[entry->request.member] = std::move(entry);
    groups_[task]->Submit(std::move(round));
  }
  TaskGroup& group(size_t task) { return *groups_[task]; }
  // Whether the ranks of a task still work together; once it has finished a round.
  Status status(size_t task) { return formed_[task].load()->status(); }

 private:
  TaskGroup::Callbacks CallbacksOf(size_t task) {
    TaskGroup::Callbacks callbacks;
    callbacks.form = [this, task](const TaskGroup&) -> StatusOr<std::unique_ptr<collective::Group>> {
      collective::GroupOptions options;
      options.name = "sum";
      auto group = collective::Group::Make({{"0", "a:1", "a"}, {"1", "b:1", "b"}}, static_cast<int>(task),
                                           network_->Join(static_cast<int>(task)), options);
      if (group.ok()) formed_[task] = group->get();
      return group;
    };
    callbacks.tell = [this, task](const std::string& to, GroupNote note) {
      notes_.Schedule(
          [this, task, to, note = std::move(note)] { groups_[to == kTasks[0] ? 0 : 1]->Receive(kTasks[task], note); });
    };
    callbacks.finish = [this, task](collective::OpRound&, const Status& status, const std::vector<Tensor>& outputs) {
      finish_(task, status, outputs);
    };
    callbacks.failed = [](const Status&) {};
    return callbacks;
  }

  const Finish finish_;
  const std::shared_ptr<collective::ThreadNetwork> network_ = collective::ThreadNetwork::Make(2);
  std::atomic<collective::Group*> formed_[2] = {nullptr, nullptr};
  std::unique_ptr<TaskGroup> groups_[2];
  ThreadPool notes_{1};
};

TEST(TaskGroupTest, AMemberThatEndsOnceItHasItsResultDoesNotAbortTheOthers) {
  Notification first_has_ended, second_has_finished;
  std::thread ending;
  Status seen = errors::Internal("not looked at");
  float sums[2] = {0, 0};
  TwoTasks* all = nullptr;
  TwoTasks tasks([&](size_t task, const Status& status, const std::vector<Tensor>& outputs) {
    EXPECT_EQ(status, OkStatus());
    if (status.ok()) sums[task] = outputs[0].scalar<float>();
    if (task == 0) {
      // As a program does whose last step is over: on another thread, at once.
      ending = std::thread([&] {
        all->group(0).End(errors::Unavailable("the task is shutting down"));
        first_has_ended.Notify();
      });
      while (all->group(0).GivenUp().ok()) std::this_thread::yield();
    } else {
      first_has_ended.Wait();
      seen = all->status(1);
      second_has_finished.Notify();
    }
  });
  all = &tasks;
  tasks.Submit(0, 1);
  tasks.Submit(1, 2);
  second_has_finished.Wait();
  ending.join();
  EXPECT_EQ(seen, OkStatus());
  EXPECT_EQ(sums[0], 3);
  EXPECT_EQ(sums[1], 3);
  tasks.group(1).End(errors::Unavailable("the test is over"));
}

}  // namespace
}  // namespace millstream
