// SPDX-License-Identifier: Apache-2.0
// The calls of verbs by their names, without "ibv_".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rdmameter::software {

enum class Verb : std::uint8_t {
  // of the control path
  alloc_mw,
  alloc_pd,
  alloc_td,
  create_ah,
  create_cq,
  create_qp,
  create_srq,
  dealloc_mw,
  dealloc_pd,
  dereg_mr,
  destroy_ah,
  destroy_cq,
  destroy_qp,
  destroy_srq,
  modify_qp,
  query_ece,
  query_qp,
  reg_mr,
  set_ece,
  // of the data path
  poll_cq,
  post_recv,
  post_send,
};

inline constexpr std::array<std::string_view, 22> kVerbNames{
    "alloc_mw",   "alloc_pd",    "alloc_td",   "create_ah", "create_cq",  "create_qp",
    "create_srq", "dealloc_mw",  "dealloc_pd", "dereg_mr",  "destroy_ah", "destroy_cq",
    "destroy_qp", "destroy_srq", "modify_qp",  "query_ece", "query_qp",   "reg_mr",
    "set_ece",    "poll_cq",     "post_recv",  "post_send"};
inline constexpr std::size_t kVerbs = kVerbNames.size();
static_assert(kVerbs == static_cast<std::size_t>(Verb::post_send) + 1);

constexpr std::size_t index(Verb verb) {
  return static_cast<std::size_t>(verb);
}
constexpr bool is_control(Verb verb) {
  return verb < Verb::poll_cq;
}
constexpr std::optional<Verb> verb_named(std::string_view name) {
  for (std::size_t i = 0; i < kVerbs; ++i)
    if (kVerbNames[i] == name) return static_cast<Verb>(i);
  return std::nullopt;
}

}  // namespace rdmameter::software
