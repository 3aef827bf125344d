// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/batches.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>

#include "reports/summary/date.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

struct RunTime {
  std::string boots;  ///< of all ends
  std::int64_t seconds = 0;
};

RunTime time_of(const Json& context) {
  RunTime time;
  for (const char* end : {"/rdmameter/initiator/boot_id", "/rdmameter/responder/boot_id"}) {
    const Json::json_pointer at(end);
    if (context.contains(at) && context.at(at).is_string()) time.boots += context.at(at);
    time.boots += ' ';
  }
  if (const Json::json_pointer all("/rdmameter/responders"); context.contains(all))
    for (const Json& one : context.at(all))
      if (one.is_object()) time.boots += one.value("boot_id", Json()).dump();
  const auto date = context.find("date");
  if (date != context.end() && date->is_string())
    time.seconds = epoch_seconds(date->get<std::string>()).value_or(0);
  return time;
}

std::vector<RunTime> times_of(const Json& context) {
  const Json::json_pointer runs("/rdmameter/runs");
  if (!context.contains(runs) || !context.at(runs).is_array() || context.at(runs).empty())
    return {time_of(context)};
  std::vector<RunTime> times;
  for (const Json& run : context.at(runs)) times.push_back(time_of(run));
  return times;
}

}  // namespace

std::vector<std::size_t> batches_of(const Json& context) {
  const std::vector<RunTime> times = times_of(context);
  std::vector<std::size_t> order(times.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t run) { return times[run].seconds; });
  std::vector<std::size_t> chain(times.size());  // a batch's first run
  std::map<std::string, std::size_t> latest;     // run of a boot
  for (const std::size_t run : order) {
    const auto before = latest.find(times[run].boots);
    const bool joined = before != latest.end() &&
                        times[run].seconds - times[before->second].seconds < kBatchPauseSeconds;
    chain[run] = joined ? chain[before->second] : run;
    latest[times[run].boots] = run;
  }
  std::map<std::size_t, std::size_t> numbers;
  std::vector<std::size_t> batches;
  for (const std::size_t first : chain)
    batches.push_back(numbers.try_emplace(first, numbers.size()).first->second);
  return batches;
}

}  // namespace rdmameter
