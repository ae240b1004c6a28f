// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_STATUS_TASK_REPORTS_H_
#define MILLSTREAM_STATUS_TASK_REPORTS_H_

#include "millstream/status/fetched_scalars.h"
#include "millstream/status/link_table.h"
#include "millstream/status/recent_errors.h"

namespace millstream {

// What a server has reported that people may want to see. Thread-safe.
struct TaskReports {
  FetchedScalars scalars;
  LinkTable links;
  RecentErrors errors;

  // Being cancelled and the end of the input are no errors.
  void StepFailed(const Status& status) {
    if (!absl::IsCancelled(status) && !absl::IsOutOfRange(status)) errors.Add("step", status);
  }
  void LinkClosed(PeerLink& link, const Status& why) {
    links.Closed(link);
    if (!absl::IsCancelled(why)) errors.Add("link to " + link.peer(), why);
  }
};

}  // namespace millstream

#endif  // MILLSTREAM_STATUS_TASK_REPORTS_H_
