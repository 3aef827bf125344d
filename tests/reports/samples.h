// SPDX-License-Identifier: Apache-2.0
// Results that look like measured ones, the same at every run: for the tests and goldens of
// reports.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/result/result_file.h"
#include "core/result/row.h"

namespace rdmameter {

/// `count` samples about `typical_ns`, with a tail to some 25 times as much.
HistogramData sample_histogram(std::uint64_t count, std::uint64_t typical_ns, std::uint32_t seed);

/// A send_lat repetition. @param transport "rc", "uc" or "ud" (the last two lose a few)
Row latency_row(const std::string& transport, std::uint64_t size_bytes, std::uint64_t repetition,
                std::uint64_t repetitions, std::uint64_t samples = 10'000);

/// A write_bw repetition over RC.
Row bandwidth_row(std::uint64_t size_bytes, std::uint64_t repetition, std::uint64_t repetitions);

/// A send_bw repetition over UD: the receiver counts, and some are lost.
Row receiver_counted_row(std::uint64_t size_bytes);

/// A send_load repetition over RC, of a second: saturated where `reached_per_s` is the lower rate.
Row open_loop_row(std::uint64_t rate, std::uint64_t reached_per_s, std::uint64_t repetition = 0,
                  std::uint64_t repetitions = 1);
/// A mix_load repetition: 700 reads of 4096 bytes and 300 writes of 8.
Row mix_load_row(std::uint64_t repetition = 0, std::uint64_t repetitions = 1);

/// A send_lat repetition with two late samples: one local with a stall, one undecided.
Row blamed_row();

Row skipped_row(std::uint64_t size_bytes);
/// The last of a case of run --until: twenty repetitions have not brought p99 to its goal.
Row settled_row();
/// A send_lat repetition over four QPs with ports, of which number 2 is slow.
Row per_device_row(std::uint64_t repetition = 0, std::uint64_t repetitions = 1);
Row per_qp_row(std::uint64_t repetition = 0, std::uint64_t repetitions = 1);
/// Rows and context of run --ablate with two axes: 300 ns, -40 ns, and 25 ns together.
ResultFile ablation_file();
Row error_row(std::uint64_t size_bytes);

/// A row with every field of its list, and of the lists in it, and the axes that CSV has columns for.
/// Its numbers are possible one by one, not together.
Row every_field_row();

/// A context as a run on two machines writes it.
nlohmann::ordered_json sample_context();

/// Every kind of row once or more.
std::vector<Row> sample_rows();

/// The rows in a result by sample_context().
ResultFile sample_file(std::vector<Row> rows, const std::string& path = "new.json");

/// A directory of its own for one test, gone with the object.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& text);

/// Of a text that the program would write.
std::vector<std::string> lines_of(const std::string& text);

}  // namespace rdmameter
