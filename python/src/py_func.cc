// SPDX-License-Identifier: Apache-2.0
// Ops that call Python functions of this process: tf.py_func.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "millstream/framework/op.h"
#include "python/src/arrays.h"
#include "python/src/errors.h"
#include "python/src/gil.h"
#include "python/src/module.h"

namespace nb = nanobind;

namespace millstream::python {
namespace {

// Called with (token, [arrays]); returns a list of arrays. Leaked: kernels may outlive the module.
PyObject* caller = nullptr;

Status StatusOf(nb::python_error& e) {
  const std::string what =
      absl::StrCat(nb::inst_name(e.value()).c_str(), ": ", nb::str(e.value()).c_str(), "\n", e.what());
  if (e.matches(PyExc_TypeError) || e.matches(PyExc_ValueError)) return errors::InvalidArgument(what);
  if (e.matches(PyExc_StopIteration)) return errors::OutOfRange(what);
  if (e.matches(PyExc_MemoryError)) return errors::ResourceExhausted(what);
  if (e.matches(PyExc_NotImplementedError)) return errors::Unimplemented(what);
  return absl::UnknownError(what);
}

class PyFunc final : public Kernel {
 public:
  explicit PyFunc(KernelInit& init) : token_(init.Attr<std::string>("token")) {}

  Status Compute(KernelContext& ctx) override {
    const AcquireGil gil;
    if (!gil.ok() || caller == nullptr) return errors::Unavailable("The Python interpreter has ended");
    try {
      return Call(ctx);
    } catch (nb::python_error& e) {
      return StatusOf(e);
    } catch (const StatusError& e) {
      return e.status();
    } catch (const std::exception& e) {
      return errors::InvalidArgument(e.what());
    }
  }

 private:
  Status Call(KernelContext& ctx) const {
    nb::list args;
    for (int i = 0; i < ctx.num_inputs(); ++i) args.append(ArrayFromTensor(ctx.input(i), true));
    nb::object results = nb::handle(caller)(token_, args);
    if (static_cast<int>(nb::len(results)) != ctx.num_outputs()) {
      return errors::InvalidArgument(token_, " returns ", nb::len(results), " values, but expects to see ",
                                     ctx.num_outputs(), " values.");
    }
    for (int i = 0; i < ctx.num_outputs(); ++i) {
      Tensor value = TensorFromArray(results[i]);
      if (value.dtype() != ctx.output_dtype(i)) {
        return errors::InvalidArgument(i, "-th value returned by ", token_, " is ", DTypeName(value.dtype()),
                                       ", but expects ", DTypeName(ctx.output_dtype(i)));
      }
      ctx.set_output(i, std::move(value));
    }
    return OkStatus();
  }

  const std::string token_;
};

OP("PyFunc")
    .Input("input: Tin")
    .Output("output: Tout")
    .Attr("token: string")
    .Attr("Tin: list(type) >= 0")
    .Attr("Tout: list(type) >= 0")
    .Stateful()
    .NotDifferentiable()
    .Cpu<PyFunc>()
    .Expensive()
    .MayBlock()
    .Doc("Calls a Python function of this process.");

OP("PyFuncStateless")
    .Input("input: Tin")
    .Output("output: Tout")
    .Attr("token: string")
    .Attr("Tin: list(type) >= 0")
    .Attr("Tout: list(type) >= 0")
    .NotDifferentiable()
    .Cpu<PyFunc>()
    .Expensive()
    .MayBlock()
    .Doc("Calls a Python function of this process that has no state.");

OP("EagerPyFunc")
    .Input("input: Tin")
    .Output("output: Tout")
    .Attr("token: string")
    .Attr("is_async: bool = false")
    .Attr("Tin: list(type) >= 0")
    .Attr("Tout: list(type) >= 0")
    .Stateful()
    .Cpu<PyFunc>()
    .Expensive()
    .MayBlock()
    .Doc("Calls a Python function of this process that takes tensors with values. Its gradient is defined in Python.");

}  // namespace

void BindPyFunc(nb::module_& m) {
  m.def("set_py_func_caller", [](nb::object fn) { caller = fn.release().ptr(); });
}

}  // namespace millstream::python
