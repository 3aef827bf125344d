// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/qp_maker.h"

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/verbs/check.h"

namespace rdmameter {
namespace {

constexpr const char* kRemedy =
    "use a graph of fewer edges, fewer --qps-per-edge, or fewer ranks on each machine";

}  // namespace

void require_qps(const OpenDevice& device, std::uint64_t wanted) {
  if (wanted > device.limits.max_qp)
    throw Unsupported("the graph asks {} QPs of a rank, and {} has room for {} in all: {}", wanted,
                      device.port.where(), device.limits.max_qp, kRemedy);
}

void throw_no_qp(const OpenDevice& device, const std::string& which, std::uint64_t had,
                 std::uint64_t wanted, int error) {
  const std::string where = device.port.where();
  std::string why = failure_text("ibv_create_qp",
                                 fmt::format("QP {} of {} on {}", had + 1, wanted, where), error);
  if (!why.ends_with('.')) why += '.';
  throw VerbsError(
      error,
      fmt::format("{} This rank had {} of the {} QPs of its {}; {} has room for {} in all, of all "
                  "ranks and other processes: {}.",
                  why, had, wanted, which, where, device.limits.max_qp, kRemedy));
}

}  // namespace rdmameter
