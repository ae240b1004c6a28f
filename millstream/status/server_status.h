// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_STATUS_SERVER_STATUS_H_
#define MILLSTREAM_STATUS_SERVER_STATUS_H_

#include <memory>
#include <string>

#include "millstream/distributed/server_observer.h"
#include "millstream/status/status_server.h"
#include "millstream/status/task_reports.h"

namespace millstream {

// The observer behind the status page: remembers what a server reports, answers other tasks that ask for it, and serves
// the page if the server's options name a port.
class ServerStatus final : public ServerObserver {
 public:
  void LinkOpened(PeerLink& link) override { reports_.links.Opened(link); }
  void LinkClosed(PeerLink& link, const Status& why) override { reports_.LinkClosed(link, why); }
  void StepFailed(const Status& status) override { reports_.StepFailed(status); }
  std::shared_ptr<FetchObserver> ObserveFetch(const std::string& tensor, DType dtype, bool trains) override {
    return reports_.scalars.Find(tensor, dtype, trains);
  }

  void Attach(const ObservedServer& server) override;
  Status Serve(const ClusterSpec& cluster) override;
  void StopServing() override;
  void Detach() override;
  StatusOr<std::string> Answer(const std::string& question) override;
  std::string url() const override;

 private:
  ObservedServer server_;
  TaskReports reports_;
  std::unique_ptr<TaskStatus> task_;
  int evaluations_ = -1;                // number of the listener; -1: none
  std::unique_ptr<StatusServer> page_;  // null: there is none
};

}  // namespace millstream

#endif  // MILLSTREAM_STATUS_SERVER_STATUS_H_
