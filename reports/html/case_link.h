// SPDX-License-Identifier: Apache-2.0
// A case's label, as a link that draws it.
#pragma once

#include <string>

#include "reports/html/page_cases.h"

namespace rdmameter {

/// A link to the fragment that page.js reads; mere text where the case has no latency to draw.
std::string case_link(const PageCase& one);

}  // namespace rdmameter
