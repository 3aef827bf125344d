// SPDX-License-Identifier: Apache-2.0
#include "bench/perftest/notes.h"

#include <cstdlib>

#include "core/base/printable.h"
#include "reports/text/terminal_lines.h"

namespace rdmameter {

bool notes_wanted() {
  const char* const text = std::getenv(kNotesVariable);
  return text != nullptr && *text != '\0' && std::string_view(text) != "0";
}

void tell_note(std::string_view text) {
  if (notes_wanted()) tell_lines("rdmameter: {}\n", printable(text));
}

}  // namespace rdmameter
