// SPDX-License-Identifier: Apache-2.0
// What an examination (core/doctor/examination.h) has found, for people. It is read as JSON: that
// of this machine and that of a peer look alike.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/doctor/examination.h"
#include "core/result/json_text.h"

namespace rdmameter {

/// Versions, findings and what is not known; without the thresholds.
/// @param examination  as examination_json() or checked_examination() makes it
/// @param width        of the lines [columns]
std::string examination_text(const Json& examination, std::size_t width);

/// A paragraph for each finding, with its remedy. @param findings  as findings_json() makes them
std::string findings_text(const Json& findings, std::size_t width);

/// The two worst in one line, with its newline, as `run` tells them; empty: there is none.
/// @param findings  problems first. The check "device" is left out: a run itself says that it has
///                  none, and it may have one that the kernel does not know
std::string worst_findings_line(const std::vector<Finding>& findings);

/// Tells that line of this machine on stderr, unless the variable RDMAMETER_DOCTOR is "off".
void tell_worst_findings();

inline constexpr const char* kDoctorVariable = "RDMAMETER_DOCTOR";

// What fits together badly at the two ends of a measurement.

/// Compares the first active port of each end, which `run` takes unless it is told another.
/// @param here, peer  as examination_json() or checked_examination() makes them
/// @return  problems first; none where an end has no active port
std::vector<Finding> compare_ends(const Json& here, const Json& peer);

}  // namespace rdmameter
