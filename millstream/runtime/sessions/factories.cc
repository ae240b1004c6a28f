// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "millstream/base/mutex.h"
#include "millstream/runtime/local_server.h"
#include "millstream/runtime/session.h"
#include "millstream/runtime/sessions/local_session.h"

namespace millstream {
namespace {

struct Factories {
  Mutex mu;
  std::map<std::string, std::vector<SessionFactory>> by_scheme ABSL_GUARDED_BY(mu);
};

Factories& AllFactories() {
  static Factories* const factories = new Factories;  // sessions may be made until the process ends
  return *factories;
}

std::vector<SessionFactory> FactoriesOf(const std::string& scheme) {
  Factories& all = AllFactories();
  MutexLock lock(all.mu);
  auto it = all.by_scheme.find(scheme);
  return it == all.by_scheme.end() ? std::vector<SessionFactory>() : it->second;
}

}  // namespace

void RegisterSessionFactory(const std::string& scheme, SessionFactory factory) {
  Factories& all = AllFactories();
  MutexLock lock(all.mu);
  all.by_scheme[scheme].push_back(std::move(factory));
}

StatusOr<std::unique_ptr<Session>> NewSession(const SessionOptions& options) {
  if (options.server != nullptr) return options.server->NewSession(options);
  if (options.target.empty() || options.target == "local") {
    return std::unique_ptr<Session>(std::make_unique<LocalSession>(options));
  }
  const std::vector<SessionFactory> factories = FactoriesOf(options.target.substr(0, options.target.find("://")));
  for (auto factory = factories.rbegin(); factory != factories.rend(); ++factory) {
    ASSIGN_OR_RETURN(std::unique_ptr<Session> session, (*factory)(options));
    if (session != nullptr) return session;
  }
  return errors::NotFound("No session factory registered for the given session options: {target: \"", options.target,
                          "\"}");
}

}  // namespace millstream
