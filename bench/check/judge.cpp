// SPDX-License-Identifier: Apache-2.0
#include "bench/check/judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "bench/check/check_facts.h"
#include "core/result/row_json.h"
#include "reports/figures/retransmit_stalls.h"
#include "reports/stats/sample.h"
#include "reports/summary/line_rate.h"
#include "reports/summary/metric.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

/// Those of an earlier check with the row's test and devices, by whatever options.
std::vector<const Row*> rows_like(const Row& row, std::span<const Row> expected) {
  constexpr std::array kKeys{"test",   "size_bytes", "qps",        "bidirectional",
                             "memory", "device",     "peer_device"};
  std::vector<const Row*> alike;
  for (const Row& before : expected)
    if (before.status == Row::Status::ok && std::ranges::all_of(kKeys, [&](const char* key) {
          return fact_at(before.case_object, key) == fact_at(row.case_object, key);
        }))
      alike.push_back(&before);
  return alike;
}

class CheckJudge {
 public:
  CheckJudge(std::span<const CheckSubject> subjects, std::span<const CheckReading> readings)
      : subjects_(subjects), readings_(readings), devices_(checked_devices(subjects)) {}

  std::vector<CheckFinding> judge(std::span<const Row> expected) {
    judge_devices();
    for (const CheckReading& reading : readings_) judge_failure(reading);
    for (const CheckReading& reading : readings_) judge_directions(reading);
    for (const CheckReading& reading : readings_) judge_bound(reading);
    for (const CheckReading& reading : readings_)
      judge_by(CheckReason::siblings, reading, siblings_of(reading), "its siblings have");
    for (const CheckReading& reading : readings_)
      judge_by(CheckReason::expected, reading, rows_like(*reading.row, expected), "expected");
    std::ranges::stable_sort(findings_, {}, &CheckFinding::subject);
    return std::move(findings_);
  }

 private:
  void find(std::size_t subject, CheckReason reason, std::string_view test, std::string text) {
    CheckFinding finding{subject, reason, test, std::move(text)};
    if (std::ranges::none_of(findings_, [&](const auto& one) { return one.same_as(finding); }))
      findings_.push_back(std::move(finding));
  }
  bool has(std::size_t subject, CheckReason reason) const {
    return std::ranges::any_of(findings_, [=](const CheckFinding& finding) {
      return finding.subject == subject && finding.reason == reason;
    });
  }
  /// Is it known already why this number is worse than others, or that it is?
  bool has_reason_for(const CheckReading& reading) const {
    return std::ranges::any_of(findings_, [&](const CheckFinding& finding) {
      const bool of_rates =
          finding.reason == CheckReason::direction || finding.reason == CheckReason::bound;
      return finding.subject == reading.subject &&
             (finding.test.empty() || finding.test == reading.label ||
              (of_rates && reading.row->bandwidth));
    });
  }

  /// A number of a device that is less than its siblings' median. @param what  "the link has"
  void judge_fact(const CheckedDevice& device, CheckReason reason, std::string_view key,
                  std::string_view what, std::string_view unit) {
    const auto own = number_at(device.facts, key);
    std::vector<double> others;
    for (const CheckedDevice& other : devices_)
      if (&other != &device && of_one_model(device.facts, other.facts))
        if (const auto value = number_at(other.facts, key)) others.push_back(*value);
    if (own && !others.empty() && *own < kLeastOfOthers * median(others))
      find(device.subject, reason, "",
           fmt::format("{}{} {:g} {}, those of its kind {:g}", device.at_end(), what, *own, unit,
                       median(others)));
  }

  void judge_devices() {
    for (const CheckedDevice& device : devices_) {
      const PayloadLimits limits = payload_limits(device.facts);
      const double data = may_be_8b10b(device.facts) ? 8.0 / 10 : 1;
      if (limits.slot_gbps && limits.line_gbps && *limits.slot_gbps < data * *limits.line_gbps)
        find(device.subject, CheckReason::slot, "",
             fmt::format("{}{} carries {:.0f} Gb/s of the line's {:.0f}", device.at_end(),
                         slot_text(device.facts), *limits.slot_gbps, *limits.line_gbps));
      if (const std::string cause = cause_of(device, "link"); !cause.empty())
        find(device.subject, CheckReason::link, "", device.at_end() + cause);
      judge_fact(device, CheckReason::link, "rate_gbps", "the link has", "Gb/s");
      judge_fact(device, CheckReason::mtu, "active_mtu_bytes", "packets carry", "B");
    }
  }

  /// All devices together, which are measured last, fail with each of them.
  void judge_failure(const CheckReading& reading) {
    const bool follows = subjects_[reading.subject].together &&
                         std::ranges::any_of(findings_, [](const CheckFinding& finding) {
                           return finding.reason == CheckReason::failed;
                         });
    if (reading.row->status == Row::Status::error && !follows)
      find(reading.subject, CheckReason::failed, reading.label,
           fmt::format("{} failed: {}", reading.label, reading.row->message));
  }

  /// Within one device both ways share more than a link.
  void judge_directions(const CheckReading& reading) {
    if (!passes_links(subjects_[reading.subject].context)) return;
    const auto out = direction_gbps(*reading.row, "forward");
    const auto in = direction_gbps(*reading.row, "backward");
    if (!out || !in || std::min(*out, *in) >= kLeastOfWay * std::max(*out, *in) ||
        has(reading.subject, CheckReason::direction))
      return;
    find(reading.subject, CheckReason::direction, reading.label,
         fmt::format("{}: {} sent, {} received", reading.label, metric_text(Metric::gbps, *out),
                     metric_text(Metric::gbps, *in)));
  }

  /// Both ways at once may be more than a slot or an adapter can: that is judged by siblings. What
  /// all devices do together is not judged.
  void judge_bound(const CheckReading& reading) {
    const CheckSubject& subject = subjects_[reading.subject];
    const auto share = share_of_bound(*reading.row);
    if (!share || *share >= kLeastOfBound || subject.together ||
        fact_at(reading.row->case_object, "bidirectional") == true ||
        !why_no_bound(subject).empty() || has(reading.subject, CheckReason::direction))
      return;
    find(reading.subject, CheckReason::bound, reading.label,
         fmt::format("{}: {} is {:.0f} % of the {} that line and slot allow", reading.label,
                     metric_text(Metric::gbps, bandwidth_gbps(*reading.row->bandwidth)),
                     100 * *share, metric_text(Metric::gbps, *bound_of(*reading.row))));
  }

  void judge_by(CheckReason reason, const CheckReading& reading, std::span<const Row* const> others,
                std::string_view relation) {
    if (has_reason_for(reading)) return;
    const auto usual = usual_of_better(*reading.row, others);
    if (!usual) return;
    find(reading.subject, reason, reading.label,
         fmt::format("{}: {}, {} {}", reading.label,
                     watched_text(*reading.row, *watched_number(*reading.row)), relation,
                     watched_text(*reading.row, *usual)));
  }

  std::vector<const Row*> siblings_of(const CheckReading& reading) const {
    std::vector<const Row*> others;
    for (const CheckReading& other : readings_)
      if (other.subject != reading.subject && other.label == reading.label &&
          are_siblings(subjects_[reading.subject], subjects_[other.subject]))
        others.push_back(other.row);
    return others;
  }

  std::span<const CheckSubject> subjects_;
  std::span<const CheckReading> readings_;
  std::vector<CheckedDevice> devices_;
  std::vector<CheckFinding> findings_;
};

/// Packets that an end has sent by this row, as far as its payload tells.
double packets_of(const Row& row) {
  const double mtu = number_at(row.case_object, "mtu_bytes").value_or(4096);
  const double size = number_at(row.case_object, "size_bytes").value_or(0);
  const double messages = row.bandwidth ? static_cast<double>(row.bandwidth->traffic_messages)
                                        : static_cast<double>(row.iterations);
  return messages * std::max(1.0, std::ceil(size / mtu));
}

/// "mlx5_0 - mlx5_1"
std::string pair_of(const Row& row) {
  return fmt::format("{} - {}", text_at(row.case_object, "device"),
                     text_at(row.case_object, "peer_device"));
}

}  // namespace

std::string_view remedy_of(CheckReason reason) {
  constexpr auto kRemedies = names_to<CheckReason::expected>(
      "rdmameter doctor at both ends, and the same test by rdmameter run",
      "use a slot with all lanes of the adapter's generation, or seat the adapter anew",
      "clean, seat or replace the cable; look at the switch port's speed, and at link_downed",
      "the same MTU at both ends and at each switch (ip link set NETDEV mtu N)",
      "look at the cable, and at both switch ports' errors and flow control, in that direction",
      "look at what rdmameter doctor warns of at both ends (IOMMU, NUMA, clocks of CPUs), at the "
      "slot's read requests (lspci -vv), and at other traffic on the way",
      "compare slot, cable, switch port, firmware and settings with those of a sibling",
      "rdmameter compare shows what has changed since then");
  return name_in(kRemedies, reason);
}

std::vector<CheckFinding> judge_check(std::span<const CheckSubject> subjects,
                                      std::span<const CheckReading> readings,
                                      std::span<const Row> expected) {
  return CheckJudge(subjects, readings).judge(expected);
}

std::vector<CheckFinding> confirmed(std::span<const CheckFinding> first,
                                    std::vector<CheckFinding> second) {
  std::erase_if(second, [&](const CheckFinding& finding) {
    return std::ranges::none_of(first, [&](const auto& one) { return one.same_as(finding); });
  });
  return second;
}

std::vector<std::string> not_judged(std::span<const CheckSubject> subjects,
                                    std::span<const CheckReading> readings) {
  std::vector<std::pair<std::string, std::string>> why;  // and of which devices
  const auto add = [&why](const std::string& reason, std::string_view name) {
    add_item(entry_of(why, reason), name);
  };
  for (const CheckSubject& subject : subjects) {
    if (subject.together) {
      add("together, because slots, uplinks and memory that devices share are not known",
          subject.name);
      continue;
    }
    if (subject.context.is_null()) continue;  // not measured: its verdict says why
    if (const std::string reason = why_no_bound(subject); !reason.empty())
      add("by what line and slot allow, because " + reason, subject.name);
    if (is_in_software(subject))
      add("by siblings, because a device in software is as fast as the CPU", subject.name);
    else if (std::ranges::none_of(subjects, [&](const CheckSubject& other) {
               return &other != &subject && !other.together && are_siblings(subject, other);
             }))
      add("by siblings, because no other device of its kind is measured", subject.name);
  }
  for (const CheckReading& reading : readings)
    if (reading.row->status == Row::Status::skipped)
      add(fmt::format("of {}, because {}", subjects[reading.subject].name, reading.row->message),
          reading.label);
  return mapped(why, [](const auto& one) { return fmt::format("{} {}", one.second, one.first); });
}

std::size_t count_expected(std::span<const CheckReading> readings, std::span<const Row> expected) {
  return static_cast<std::size_t>(std::ranges::count_if(readings, [&](const auto& reading) {
    return reading.row->status == Row::Status::ok && !rows_like(*reading.row, expected).empty();
  }));
}

std::string expected_text(std::span<const CheckReading> readings, std::span<const Row> expected,
                          const std::string& file) {
  if (const std::size_t count = count_expected(readings, expected); count > 0)
    return fmt::format("{} of {} cases are in {}", count, readings.size(), file);
  std::set<std::string> theirs, ours;
  for (const Row& row : expected) theirs.insert(pair_of(row));
  for (const CheckReading& reading : readings) ours.insert(pair_of(*reading.row));
  return fmt::format(
      "nothing of {} is about this machine's devices: it has cases of {}, and this check of {}",
      file, fmt::join(theirs, ", "), fmt::join(ours, ", "));
}

std::string together_text(std::span<const CheckSubject> subjects,
                          std::span<const CheckReading> readings) {
  double alone = 0;
  const Row* together = nullptr;
  for (const CheckReading& reading : readings) {
    if (!reading.row->bandwidth || reading.row->status != Row::Status::ok) continue;
    if (subjects[reading.subject].together)
      together = reading.row;
    else if (reading.label == "write")
      alone += bandwidth_gbps(*reading.row->bandwidth);
  }
  if (together == nullptr || alone <= 0) return "";
  const double all = bandwidth_gbps(*together->bandwidth);
  std::string text =
      fmt::format("write together: {}, {:.0f} % of what the devices write one after the other",
                  metric_text(Metric::gbps, all), 100 * all / alone);
  for (const DeviceData& one : together->per_device)
    text += fmt::format("{}{} {}", &one == &together->per_device.front() ? ": " : ", ", one.device,
                        metric_text(Metric::gbps, bandwidth_gbps(one)));
  return text;
}

std::vector<std::string> loss_warnings(std::span<const CheckSubject> subjects,
                                       std::span<const CheckReading> readings) {
  std::vector<std::string> texts;
  for (std::size_t subject = 0; subject < subjects.size(); ++subject) {
    double packets = 0, events = 0;
    std::string names;
    for (const CheckReading& reading : readings) {
      if (reading.subject != subject) continue;
      packets += packets_of(*reading.row);
      for (const char* end : {"initiator", "responder"})
        for (const auto& [name, count] : fact_at(reading.row->device_counters, end).items()) {
          const LossCounterInfo* const known = find_loss_counter(name);
          // Some tell of congestion, of which no message need be lost.
          if (known == nullptr || known->event == StallCause::unknown || !count.is_number())
            continue;
          events += count.get<double>();
          if (names.find(name) == names.npos) add_item(names, name);
        }
    }
    if (packets > 0 && events > kMostLost * packets)
      texts.push_back(
          fmt::format("{}: {:.0f} of {:.3g} packets were lost or late, by the counters "
                      "of its port, which count others' traffic, too: {}",
                      subjects[subject].name, events, packets, names));
  }
  return texts;
}

}  // namespace rdmameter
