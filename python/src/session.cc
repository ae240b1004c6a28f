// SPDX-License-Identifier: Apache-2.0
#include "millstream/runtime/session.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>

#include "millstream/base/cancellation.h"
#include "millstream/distributed/client/remote_session.h"
#include "millstream/proto/config.pb.h"
#include "python/src/arrays.h"
#include "python/src/errors.h"
#include "python/src/gil.h"
#include "python/src/graph.h"
#include "python/src/interrupt.h"
#include "python/src/module.h"
#include "python/src/servers.h"

namespace millstream::python {
namespace {

using Names = std::vector<std::string>;

// A target in this process is reached without the network.
StatusOr<std::unique_ptr<Session>> Connect(const std::string& target, const proto::ConfigProto& config,
                                           Cancellation* cancellation) {
  if (Server* server = target.empty() ? nullptr : FindServer(target)) return server->NewSession(config, cancellation);
  ASSIGN_OR_RETURN(SessionOptions options, SessionOptions::FromProto(config));
  options.target = target;
  return NewSession(options);
}

// Keeps the session for as long as a call runs in it, whatever Python does meanwhile.
class PySession {
 public:
  PySession(const std::string& target, nb::bytes config) {
    proto::ConfigProto proto;
    if (!proto.ParseFromArray(config.c_str(), static_cast<int>(config.size())))
      throw nb::value_error("not a ConfigProto");
    StatusOr<std::unique_ptr<Session>> made = errors::Internal("");
    Cancellation cancellation;
    {
      // It may wait for tasks that are not there yet.
      Interruptible interruptible([&] { cancellation.StartCancel(errors::Cancelled("Interrupted")); });
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      ReleaseGil release;
      made = Connect(target, proto, &cancellation);
    }
    if (!made.ok() && cancellation.IsCancelled() && PyErr_CheckSignals() != 0) throw nb::python_error();
    session_ = Check(std::move(made));
  }
  // The last step may have to wait for Python code that needs the GIL.
  ~PySession() {
    ReleaseGil release;
    session_.reset();
  }
  std::shared_ptr<Session> session() const {
    if (session_ == nullptr) Check(errors::FailedPrecondition("Attempted to use a closed Session."));
    return session_;
  }
  void Close() {
    ReleaseGil release;
    if (session_ != nullptr) session_->Close().IgnoreError();
  }

 private:
  std::shared_ptr<Session> session_;
};

// Calls fn(options, metadata) without the GIL. Returns the serialized metadata where `options` were given.
template <typename Fn>
nb::object RunStep(nb::handle options_bytes, Fn fn, StepIdentity identity = {}) {
  RunOptions options;
  options.identity = identity;
  Cancellation cancellation;
  options.cancellation = &cancellation;
  proto::RunMetadata metadata;
  const bool with_metadata = !options_bytes.is_none();
  if (with_metadata) {
    nb::bytes bytes = nb::cast<nb::bytes>(options_bytes);
    proto::RunOptions proto;
    if (!proto.ParseFromArray(bytes.c_str(), static_cast<int>(bytes.size()))) throw nb::value_error("not RunOptions");
    options.timeout_ms = proto.timeout_in_ms();
    options.full_trace = proto.trace_level() == proto::RunOptions::FULL_TRACE;
    options.partition_graphs = proto.output_partition_graphs();
  }
  Status status;
  {
    Interruptible interruptible(&cancellation);
    if (PyErr_CheckSignals() != 0) throw nb::python_error();  // one that came just before would not be noticed
    ReleaseGil release;
    status = fn(options, with_metadata ? &metadata : nullptr);
  }
  if (!status.ok() && cancellation.IsCancelled() && PyErr_CheckSignals() != 0) throw nb::python_error();
  Check(status);
  if (!with_metadata) return nb::none();
  const std::string bytes = metadata.SerializeAsString();
  return nb::bytes(bytes.data(), bytes.size());
}

nb::list Arrays(std::vector<Tensor>* tensors) {
  nb::list out;
  for (Tensor& t : *tensors) out.append(ArrayFromTensor(std::move(t), true));
  return out;
}

// A negative type says that the array may be read in place.
std::vector<Tensor> Tensors(nb::handle arrays, nb::handle types) {
  ReleaseArrays();
  std::vector<Tensor> out;
  nb::iterator type = nb::iter(types);
  for (nb::handle array : nb::iter(arrays)) {
    const int number = nb::cast<int>(*type);
    out.push_back(number < 0 ? TensorOverArray(array, static_cast<DType>(-number))
                             : TensorFromArray(array, static_cast<DType>(number)));
    ++type;
  }
  return out;
}

Session::Feeds MakeFeeds(const Names& names, nb::handle arrays, nb::handle types) {
  std::vector<Tensor> tensors = Tensors(arrays, types);
  if (tensors.size() != names.size()) throw nb::value_error("as many names as values, please");
  Session::Feeds feeds;
  for (size_t i = 0; i < names.size(); ++i) feeds.emplace_back(names[i], std::move(tensors[i]));
  return feeds;
}

nb::tuple Run(const PySession& s, const Names& feed_names, nb::handle arrays, nb::handle types, const Names& fetches,
              const Names& targets, nb::handle options) {
  const std::shared_ptr<Session> session = s.session();
  const Session::Feeds feeds = MakeFeeds(feed_names, arrays, types);
  std::vector<Tensor> outputs;
  nb::object metadata = RunStep(options, [&](const RunOptions& o, proto::RunMetadata* m) {
    return session->Run(o, feeds, fetches, targets, &outputs, m);
  });
  return nb::make_tuple(Arrays(&outputs), metadata);
}

nb::tuple RunCallable(const PySession& s, int64_t handle, nb::handle arrays, nb::handle types, nb::handle options,
                      uint64_t client, uint64_t number) {
  const std::shared_ptr<Session> session = s.session();
  std::vector<Tensor> feeds = Tensors(arrays, types);
  std::vector<Tensor> outputs;
  nb::object metadata = RunStep(
      options,
      [&](const RunOptions& o, proto::RunMetadata* m) { return session->RunCallable(handle, feeds, &outputs, o, m); },
      {client, number});
  return nb::make_tuple(Arrays(&outputs), metadata);
}

// Calls fn() without the GIL. It may wait for a server that is not there yet: Ctrl-C then gives the session up.
template <typename Fn>
auto Wait(const std::shared_ptr<Session>& session, Fn fn) {
  decltype(fn()) result = errors::Internal("");
  std::atomic<bool> interrupted = false;
  {
    Interruptible interruptible([&] {
      interrupted = true;
      session->Close().IgnoreError();
    });
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    ReleaseGil release;
    result = fn();
  }
  if (interrupted && PyErr_CheckSignals() != 0) throw nb::python_error();
  return Check(std::move(result));
}

// A local session copies what is new at once; others may wait, so they get a copy that Python cannot change meanwhile.
void Extend(const PySession& s, const PyGraph& graph, bool local) {
  const std::shared_ptr<Session> session = s.session();
  if (local) return Check(session->Extend(graph.graph()));
  const std::unique_ptr<Graph> copy = graph.graph().Clone();
  Wait(session, [&] { return session->Extend(*copy); });
}

int64_t MakeCallable(const PySession& s, const Names& feeds, const Names& fetches, const Names& targets) {
  const std::shared_ptr<Session> session = s.session();
  return Wait(session, [&] { return session->MakeCallable(feeds, fetches, targets); });
}

std::string PartialRunSetup(const PySession& s, const Names& feeds, const Names& fetches, const Names& targets) {
  const std::shared_ptr<Session> session = s.session();
  return Wait(session, [&] { return session->PartialRunSetup(feeds, fetches, targets); });
}

nb::list PartialRun(const PySession& s, const std::string& handle, const Names& feed_names, nb::handle arrays,
                    nb::handle types, const Names& fetches) {
  const std::shared_ptr<Session> session = s.session();
  const Session::Feeds feeds = MakeFeeds(feed_names, arrays, types);
  std::vector<Tensor> outputs;
  Status status;
  {
    ReleaseGil release;
    status = session->PartialRun(handle, feeds, fetches, &outputs);
  }
  Check(status);
  return Arrays(&outputs);
}

// (name, type, memory limit, incarnation) of each.
nb::list ListDevices(const PySession& s) {
  const std::shared_ptr<Session> session = s.session();
  std::vector<DeviceAttributes> devices;
  {
    ReleaseGil release;
    devices = session->ListDevices();
  }
  nb::list out;
  for (const DeviceAttributes& d : devices) out.append(nb::make_tuple(d.name, d.type, d.memory_limit, d.incarnation));
  return out;
}

void ResetTarget(const std::string& target, const Names& containers) {
  SessionOptions options;
  options.target = target;
  Status status;
  {
    ReleaseGil release;
    status = ResetRemote(options, containers);
  }
  Check(status);
}

}  // namespace

void BindSession(nb::module_& m) {
  nb::class_<PySession>(m, "Session")
      .def(nb::init<const std::string&, nb::bytes>(), nb::arg("target"), nb::arg("config"))
      .def("extend", &Extend, nb::arg("graph"), nb::arg("local"))
      .def("run", &Run, nb::arg("feed_names"), nb::arg("feeds"), nb::arg("types"), nb::arg("fetches"),
           nb::arg("targets"), nb::arg("options").none())
      .def("make_callable", &MakeCallable)
      .def("run_callable", &RunCallable, nb::arg("handle"), nb::arg("feeds"), nb::arg("types"),
           nb::arg("options").none(), nb::arg("client") = 0, nb::arg("number") = 0)
      .def("release_callable", [](const PySession& s, int64_t handle) { Check(s.session()->ReleaseCallable(handle)); })
      .def("partial_run_setup", &PartialRunSetup)
      .def("partial_run", &PartialRun)
      .def("list_devices", &ListDevices)
      .def("close", &PySession::Close);
  m.def("reset_target", &ResetTarget, "Clears containers of a cluster; all state if none is named.");
}

}  // namespace millstream::python
