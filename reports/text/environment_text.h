// SPDX-License-Identifier: Apache-2.0
// What a result was measured with, in a few lines.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/result/result_file.h"
#include "reports/summary/facts.h"
#include "reports/text/text.h"

namespace rdmameter {

/// File, version, date, command; what both ends have alike, and what differs;
/// the instrument's overhead.
/// @param all  every fact of an end, not only who it is, its device, link and machine
std::string describe_context(const ResultFile& file, bool all, const TextStyle& style);

using Facts = std::vector<std::pair<std::string, std::string>>;  ///< names and values

/// The facts about the ends in describe_context(): "both ends" and what they have in common (one
/// end alone has nothing in common with others), then "initiator" and so on, each with what is its
/// own. Empty values are left out.
/// @param ours  `context.rdmameter` of a result
/// @param all   as describe_context() takes it
Facts end_facts(const Json& ours, bool all);

/// Takes out of all what all say alike. @param all  not empty
Facts take_common(std::vector<Facts>& all);

/// "mlx5_0/1: Ethernet, 100.0 Gb/s, MTU 4096 B, GID 3 roce_v2 ::ffff:192.0.2.1, NUMA node 0"
/// @param device  of an end's environment; what it does not say is left out
std::string device_line(const Json& device);

/// A line of the head of a result: two columns of indentation, the label, the value behind it.
/// Empty if the value is.
std::string labelled(std::string_view label, const std::string& value, const TextStyle& style);

/// "name 7" of every scalar in an object, the way to it before it: {"a": {"b_ns": 7}} is "a b_ns
/// 7". Null, empty text and arrays stay out.
Facts flatten(const Json& object);

// ---- Who took part in a measurement, and in what environment.

struct EnvironmentEnd {
  std::string name;  ///< "initiator", "responder", "responder node7", "rank 3", "ranks 0, 2, 4"
  Json environment;
};

/// The initiator and the responder, of several hosts each by its name, where they are known.
/// @param ours  `context.rdmameter` of a result
std::vector<EnvironmentEnd> two_ends(const Json& ours);

/// two_ends(), and of topologies the ranks, those of one environment together, as ranks of one host
/// mostly are.
/// @param ours  `context.rdmameter` of a result
std::vector<EnvironmentEnd> environment_ends(const Json& ours);

}  // namespace rdmameter
