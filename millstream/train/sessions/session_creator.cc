// SPDX-License-Identifier: Apache-2.0
#include "millstream/train/sessions/session_creator.h"

namespace millstream {
namespace {

std::shared_ptr<Scaffold> OrDefault(std::shared_ptr<Scaffold> scaffold) {
  return scaffold != nullptr ? std::move(scaffold) : std::make_shared<Scaffold>();
}

SessionManager ManagerFor(const Scope& scope, const Scaffold& scaffold) {
  SessionManager::Options options;
  options.ready_op = scaffold.ready_op;
  options.ready_for_local_init_op = scaffold.ready_for_local_init_op;
  options.uninitialized_op = scaffold.uninitialized_op;
  options.local_init_op = scaffold.local_init_op;
  options.local_init_feeds = scaffold.local_init_feeds;
  return SessionManager(scope, options);
}

}  // namespace

ChiefSessionCreator::ChiefSessionCreator(const Scope& scope, std::shared_ptr<Scaffold> scaffold, SessionOptions config,
                                         std::string checkpoint_dir, std::string checkpoint_path,
                                         SessionManager::RestoreListener on_restore)
    : scope_(scope),
      scaffold_(OrDefault(std::move(scaffold))),
      config_(std::move(config)),
      checkpoint_dir_(std::move(checkpoint_dir)),
      checkpoint_path_(std::move(checkpoint_path)),
      on_restore_(std::move(on_restore)) {}

Status ChiefSessionCreator::Finalize() { return scaffold_->Finalize(scope_); }

StatusOr<std::unique_ptr<Session>> ChiefSessionCreator::CreateSession() {
  const SessionManager::Init init{scaffold_->init_op, scaffold_->init_feeds, scaffold_->init_fn};
  SessionManager::Checkpoint checkpoint;
  checkpoint.saver = scaffold_->saver;
  checkpoint.folder = checkpoint_dir_;
  checkpoint.path = checkpoint_path_;
  checkpoint.on_restore = on_restore_;
  return ManagerFor(scope_, *scaffold_).PrepareSession(config_, init, checkpoint);
}

WorkerSessionCreator::WorkerSessionCreator(const Scope& scope, std::shared_ptr<Scaffold> scaffold,
                                           SessionOptions config, double max_wait_secs)
    : scope_(scope),
      scaffold_(OrDefault(std::move(scaffold))),
      config_(std::move(config)),
      max_wait_secs_(max_wait_secs) {}

Status WorkerSessionCreator::Finalize() { return scaffold_->Finalize(scope_); }

StatusOr<std::unique_ptr<Session>> WorkerSessionCreator::CreateSession() {
  return ManagerFor(scope_, *scaffold_).WaitForSession(config_, max_wait_secs_);
}

}  // namespace millstream
