// SPDX-License-Identifier: Apache-2.0
#include "bench/running/outcome_row.h"

#include "topologies/axes/rank_axes.h"

namespace rdmameter {
namespace {

double ratio(std::uint64_t dividend, std::uint64_t divisor) {
  return divisor == 0 ? 0.0 : static_cast<double>(dividend) / static_cast<double>(divisor);
}

Row bare_row(const RowPlace& place, const TestCase& test_case) {
  Row row;
  row.name = place.planned.name;
  row.case_object = case_json(test_case, test_case.topology() ? topology_axes() : axes());
  if (!place.planned.host.empty()) row.case_object["host"] = place.planned.host;
  if (!place.planned.beside.empty()) row.case_object["background"] = place.planned.beside;
  row.family_index = place.family_index;
  row.repetition = place.repetition;
  row.repetitions = place.repetitions;
  return row;
}

Row unmeasured_row(const RowPlace& place, Row::Status status, const std::string& message) {
  Row row = bare_row(place, place.planned.test_case);
  row.status = status;
  row.message = message;
  return row;
}

double time_per_operation_ns(const Row& row) {
  if (row.bandwidth) return ratio(row.bandwidth->window_ns, row.bandwidth->messages);
  if (!row.latency) return 0.0;
  const HistogramData& samples = row.latency->histogram;
  return ratio(samples.sum_ns, samples.count) / (row.latency->half_round_trip ? 2 : 1);
}

}  // namespace

Row measured_row(const RowPlace& place, const Outcome& outcome) {
  Row row = bare_row(place, outcome.effective);
  static_cast<Measurement&>(row) = outcome;
  row.iterations = outcome.operations;
  row.interrupted = outcome.interrupted && !outcome.effective.until_interrupted();
  row.real_time_ns = time_per_operation_ns(row);
  row.cpu_time_ns = ratio(outcome.cpu_ns, outcome.operations);
  return row;
}

Row skipped_row(const RowPlace& place, const std::string& reason) {
  return unmeasured_row(place, Row::Status::skipped, reason);
}

Row error_row(const RowPlace& place, const std::string& message) {
  return unmeasured_row(place, Row::Status::error, message);
}

}  // namespace rdmameter
