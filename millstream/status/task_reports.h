// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_STATUS_TASK_REPORTS_H_
#define MILLSTREAM_STATUS_TASK_REPORTS_H_

#include "millstream/distributed/observer/counters.h"
#include "millstream/status/fetched_scalars.h"
#include "millstream/status/link_table.h"
#include "millstream/status/recent_errors.h"

namespace millstream {

// Where the parts of a server leave what people may want to see. Thread-safe.
struct TaskReports {
  StepCounters steps;
  FetchedScalars scalars;
  LinkTable links;
  RecentErrors errors;

  // A step of the task's master has ended. Being cancelled and the end of the input are no errors.
  void StepEnded(const Status& status) {
    steps.ended.Add();
    if (status.ok()) [[likely]]
      return;
    steps.failed.Add();
    if (!absl::IsCancelled(status) && !absl::IsOutOfRange(status)) errors.Add("step", status);
  }
  void LinkClosed(PeerLink& link, const Status& why) {
    links.Closed(link);
    if (!absl::IsCancelled(why)) errors.Add("link to " + link.peer(), why);
  }
};

}  // namespace millstream

#endif  // MILLSTREAM_STATUS_TASK_REPORTS_H_
