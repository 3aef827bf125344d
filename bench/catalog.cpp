// SPDX-License-Identifier: Apache-2.0
#include "bench/catalog.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>

#include "bench/nearest.h"
#include "core/error.h"

namespace rdmameter {
namespace {

constexpr std::array kCatalog{
    Test{"send_lat", Opcode::send, Pattern::ping_pong, "SEND and RECEIVE, round trips"},
    Test{"send_bw", Opcode::send, Pattern::bandwidth, "SEND and RECEIVE, bandwidth"},
    Test{"write_lat", Opcode::rdma_write, Pattern::ping_pong,
         "RDMA WRITE, round trips: each end polls its memory"},
    Test{"write_bw", Opcode::rdma_write, Pattern::bandwidth, "RDMA WRITE, bandwidth"},
    Test{"read_lat", Opcode::rdma_read, Pattern::completion_latency,
         "RDMA READ, from post to completion"},
    Test{"read_bw", Opcode::rdma_read, Pattern::bandwidth, "RDMA READ, bandwidth"},
};

bool matches(const std::string& pattern, const Test& test) {
  return pattern == "all" || fnmatch(pattern.c_str(), std::string(test.name).c_str(), 0) == 0;
}

[[noreturn]] void refuse(const std::string& text) {
  std::vector<std::string_view> names;
  for (const Test& test : kCatalog) names.push_back(test.name);
  throw UsageError(
      fmt::format("there is no test '{}'{} (tests: {}, all, or a glob such as '*_lat')", text,
                  did_you_mean(text, names), fmt::join(names, ", ")));
}

}  // namespace

std::span<const Test> catalog() {
  return kCatalog;
}

bool names_test(std::string_view text) {
  return std::ranges::any_of(
      kCatalog, [pattern = std::string(text)](const Test& test) { return matches(pattern, test); });
}

std::vector<const Test*> select_tests(std::span<const std::string> texts) {
  std::vector<const Test*> selected;
  for (const std::string& text : texts) {
    if (!names_test(text)) refuse(text);
    for (const Test& test : kCatalog)
      if (matches(text, test) && std::ranges::find(selected, &test) == selected.end())
        selected.push_back(&test);
  }
  return selected;
}

std::string catalog_text() {
  std::string text;
  for (const Test& test : kCatalog)
    text += fmt::format("{:<10}  {}\n", test.name, test.description);
  return text;
}

}  // namespace rdmameter
