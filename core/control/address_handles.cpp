// SPDX-License-Identifier: Apache-2.0
// ibv_create_ah and ibv_destroy_ah, towards the device's own port.
#include <fmt/format.h>

#include "core/base/error.h"
#include "core/control/object_call.h"
#include "core/verbs/probe.h"

namespace rdmameter {
namespace {

struct AddressHandles {
  using Object = Ah;
  static constexpr Verb kMakes = Verb::create_ah;
  static constexpr auto kFree = ibv_destroy_ah;
  static constexpr std::string_view freeing_verb = "ibv_destroy_ah";
  static constexpr std::string_view making_verb() { return "ibv_create_ah"; }

  AddressHandles(OpenDevice& device, const TestCase&)
      : attributes(ah_attributes(path_to_itself(device))),
        where(device.port.where()),
        pd(make_pd(device)) {}

  ibv_ah* try_to_make() noexcept { return ibv_create_ah(pd.get(), &attributes); }
  Ah made() {
    return Ah{check_pointer([this] { return try_to_make(); }, making_verb(), object())};
  }
  std::string object() const { return fmt::format("towards itself on {}", where); }

  ibv_ah_attr attributes;
  const std::string where;
  const Pd pd;
};

}  // namespace

std::unique_ptr<ControlCall> make_ah_call(OpenDevice& device, const TestCase& test_case) {
  // Without UD some providers have no ibv_create_ah() (mana), and some return NULL alone (hns).
  if (lacks_transport(*device.context, Transport::ud))
    throw Unsupported("{} has no QPs of ud, and address handles are for them alone",
                      device.port.where());
  require_objects(test_case, "address handles", device.limits.max_ah, device.port.where());
  return std::make_unique<ObjectCall<AddressHandles>>(device, test_case);
}

}  // namespace rdmameter
