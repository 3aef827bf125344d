// SPDX-License-Identifier: Apache-2.0
// The context of a result: what it was measured with.
#include "core/result/result_file.h"

namespace rdmameter {

nlohmann::ordered_json make_context(const ContextParts& parts) {
  nlohmann::ordered_json ours = {{"schema", kResultSchema},      {"version", RDMAMETER_VERSION},
                                 {"command", parts.command},     {"floor", parts.overhead},
                                 {"initiator", parts.initiator}, {"responder", parts.responder}};
  // insert() leaves what is there: `schema` cannot be shadowed.
  if (parts.extra.is_object()) ours.insert(parts.extra.begin(), parts.extra.end());
  nlohmann::ordered_json context = nlohmann::ordered_json::object();
  if (parts.google_benchmark.is_object()) context.update(parts.google_benchmark);
  context["rdmameter"] = std::move(ours);
  return context;
}

}  // namespace rdmameter
