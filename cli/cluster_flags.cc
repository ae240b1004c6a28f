// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster_flags.h"

#include <CLI/CLI.hpp>

namespace millstream::cli {

void AccessFlags::AddTo(CLI::App& app) {
  app.add_option("--token_file", token_file, "file with the job token (default: MILLSTREAM_TOKEN_FILE)");
  app.add_option("--tls_cert", tls_cert, "PEM file with this task's certificate (default: MILLSTREAM_TLS_CERT)");
  app.add_option("--tls_key", tls_key, "PEM file with its key (default: MILLSTREAM_TLS_KEY)");
  app.add_option("--tls_ca", tls_ca,
                 "PEM file of the certificate authority; certificates that it did not sign are refused (default: "
                 "MILLSTREAM_TLS_CA)");
}

Status AccessFlags::Apply(ServerOptions* options) const {
  RETURN_IF_ERROR(options->ReadEnvironment());
  if (!token_file.empty()) {
    ASSIGN_OR_RETURN(options->token, ReadTokenFile(token_file));
  }
  if (!tls_cert.empty()) options->tls.cert = tls_cert;
  if (!tls_key.empty()) options->tls.key = tls_key;
  if (!tls_ca.empty()) options->tls.ca = tls_ca;
  return OkStatus();
}

void ClusterFlags::AddTo(CLI::App& app) {
  app.add_option("--cluster", cluster,
                 "the cluster as JSON: {\"ps\":[\"host:port\"],\"worker\":[\"host:port\"]} (default: from TF_CONFIG)");
  app.add_option("--ps_hosts", ps_hosts, "host:port,... of job ps");
  app.add_option("--worker_hosts", worker_hosts, "host:port,... of job worker");
  app.add_option("--chief_hosts", chief_hosts, "host:port of job chief");
  app.add_option("--evaluator_hosts", evaluator_hosts, "host:port,... of job evaluator");
  AccessFlags::AddTo(app);
  app.add_option("--job_id", job_id, "tasks of another job are refused (default: MILLSTREAM_JOB_ID)");
}

StatusOr<ClusterSpec> ClusterFlags::Resolve() const {
  const bool hosts = !ps_hosts.empty() || !worker_hosts.empty() || !chief_hosts.empty() || !evaluator_hosts.empty();
  if (!cluster.empty() && hosts) return errors::InvalidArgument("give --cluster or --..._hosts, not both");
  if (!cluster.empty()) return ClusterSpec::FromJson(cluster);
  if (hosts) {
    return ClusterSpec::FromHosts(
        {{"ps", ps_hosts}, {"worker", worker_hosts}, {"chief", chief_hosts}, {"evaluator", evaluator_hosts}});
  }
  ASSIGN_OR_RETURN(TfConfig config, TfConfig::FromEnvironment());
  if (config.cluster.empty())
    return errors::InvalidArgument("which cluster? Give --cluster, --ps_hosts and --worker_hosts, or TF_CONFIG");
  return config.cluster;
}

Status ClusterFlags::Apply(ServerOptions* options) const {
  RETURN_IF_ERROR(AccessFlags::Apply(options));
  if (!job_id.empty()) options->job_id = job_id;
  return OkStatus();
}

StatusOr<ServerOptions> ClusterFlags::ServerFor(const std::string& job_name, int task_index) const {
  ServerOptions options;
  RETURN_IF_ERROR(Apply(&options));
  ASSIGN_OR_RETURN(options.cluster, Resolve());
  ASSIGN_OR_RETURN(const TfConfig config, TfConfig::FromEnvironment());
  options.job_name = job_name.empty() ? config.job : job_name;
  if (options.job_name.empty())
    return errors::InvalidArgument("which task? Give --job_name and --task_index, or TF_CONFIG");
  options.task_index = task_index >= 0 ? task_index : (job_name.empty() ? config.task : 0);
  return options;
}

}  // namespace millstream::cli
