// SPDX-License-Identifier: Apache-2.0
// Calls of the verb that makes objects of a kind, and of the verb that frees them.
#pragma once

#include <string_view>
#include <vector>

#include "core/control/control_call.h"
#include "core/verbs/check.h"

namespace rdmameter {

/// @tparam Kind  the objects of a kind on a device: `Object` owns one, `kMakes` is the test of the
///               verb that makes one, try_to_make() that verb alone (null, with errno: it was
///               refused), made() the same with its errors thrown, fail_to_make(), if it has that,
///               throws what try_to_make() returned, add_to(), if it has that, is ControlCall's, and
///               `kFree` frees one
template <class Kind>
class ObjectCall : public ControlCall {
 public:
  ObjectCall(OpenDevice& device, const TestCase& test_case)
      : kind_(device, test_case), makes_(test_case.verb == Kind::kMakes) {}

  void hold() override { held_.push_back(kind_.made()); }
  void prepare() override {
    if (!makes_) object_ = kind_.made();
  }
  int call() noexcept override {
    if (!makes_) return Kind::kFree(object_.release());
    object_.reset(kind_.try_to_make());
    return object_ ? 0 : errno_of_null();
  }
  [[noreturn]] void fail(int error) const override {
    if constexpr (requires { kind_.fail_to_make(error); })
      if (makes_) kind_.fail_to_make(error);
    throw_failure(verb(), kind_.object(), error);
  }
  void undo() noexcept override { object_.reset(); }
  void add_to(Json& row) const override {
    if constexpr (requires { kind_.add_to(row); }) kind_.add_to(row);
  }

 protected:
  virtual std::string_view verb() const noexcept {
    return makes_ ? kind_.making_verb() : kind_.freeing_verb;
  }

  Kind kind_;  ///< before the objects: they go first
  const bool makes_;
  std::vector<typename Kind::Object> held_;
  typename Kind::Object object_;  ///< the one of the call
};

}  // namespace rdmameter
