// SPDX-License-Identifier: Apache-2.0
// What a comparison can say of a case, and of all of them.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace rdmameter {

/// The worst first: a case has the worst verdict of its members.
enum class CaseVerdict {
  fail,          ///< worse: significant among all cases, beyond the floor
  suspect,       ///< looks so, but more runs or batches must confirm it
  inconclusive,  ///< a change beyond the margin can neither be seen nor ruled out
  better,        ///< the same as fail, the other way round
  pass,          ///< a change beyond the margin is ruled out
};

/// What a case did beside its metrics.
struct CaseFinding {
  CaseVerdict verdict = CaseVerdict::pass;
  std::string text;  ///< "10 of 15 repetitions failed, 0 of 15 in BASE"
};

enum class Conclusion {
  pass,        ///< every case passes or got better
  fail,        ///< a case or a gate fails
  not_proven,  ///< nothing fails, and something is suspect or inconclusive
};

/// How a verdict is told; a sign of a page of Markdown before it.
struct VerdictName {
  std::string_view text, sign;
};

/// By CaseVerdict.
inline constexpr std::array<VerdictName, 5> kVerdictNames{
    {{"fail", "❌"}, {"suspect", "⚠️"}, {"inconclusive", "❔"}, {"better", "🎉"}, {"pass", "✅"}}};
static_assert(kVerdictNames.size() == static_cast<std::size_t>(CaseVerdict::pass) + 1);
/// By Conclusion.
inline constexpr std::array<VerdictName, 3> kConclusionNames{
    {{"pass", "✅"}, {"fail", "❌"}, {"not proven", "🟡"}}};

static_assert(kConclusionNames.size() == static_cast<std::size_t>(Conclusion::not_proven) + 1);

constexpr const VerdictName& name_of(CaseVerdict verdict) {
  return kVerdictNames[static_cast<std::size_t>(verdict)];
}
constexpr const VerdictName& name_of(Conclusion conclusion) {
  return kConclusionNames[static_cast<std::size_t>(conclusion)];
}

}  // namespace rdmameter
