// SPDX-License-Identifier: Apache-2.0
// Was it measured on the same ground? Numbers of different devices, kernels or links do not
// compare.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rdmameter {

/// What differs between two contexts of the facts that numbers hang on, of both ends: "responder:
/// kernel: Linux 6.1.0 in BASE, Linux 6.6.13 in NEW". Empty: nothing does.
/// Facts that one of them does not know are no difference.
std::vector<std::string> environment_changes(const nlohmann::ordered_json& base,
                                             const nlohmann::ordered_json& other);

}  // namespace rdmameter
