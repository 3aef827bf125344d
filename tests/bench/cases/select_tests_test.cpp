// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/cases/cases.h"
#include "bench/cases/words.h"
#include "core/base/error.h"

namespace rdmameter {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string_view> chosen_names(const std::vector<std::string>& texts) {
  std::vector<std::string_view> selected;
  for (const Test* test : select_tests(texts)) selected.push_back(test->name);
  return selected;
}

std::string refusal(const std::string& text) {
  try {
    chosen_names({text});
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Nearest, CountsLettersAddedLostChangedAndSwapped) {
  constexpr std::string_view kKnown[] = {"size", "depth", "inline", "rc"};
  EXPECT_EQ(nearest("sizes", kKnown), "size");
  EXPECT_EQ(nearest("siez", kKnown), "size");
  EXPECT_EQ(nearest("deth", kKnown), "depth");
  EXPECT_EQ(nearest("inlane", kKnown), "inline");
  EXPECT_EQ(nearest("cr", kKnown), "rc");
  EXPECT_EQ(nearest("quux", kKnown), "");
  EXPECT_EQ(nearest("", kKnown), "");
  EXPECT_EQ(nearest(std::string(100'000, 'x'), kKnown), "");
  EXPECT_EQ(did_you_mean("siez", kKnown, "--"), "; did you mean '--size'?");
}

TEST(Catalog, SelectsByNameGlobAndAllEachOnce) {
  EXPECT_THAT(chosen_names({"write_lat", "send_bw", "write_lat"}),
              ElementsAre("write_lat", "send_bw"));
  EXPECT_THAT(
      chosen_names({"*_bw"}),
      ElementsAre("send_bw", "send_imm_bw", "write_bw", "write_imm_bw", "read_bw", "fetch_add_bw",
                  "cmp_swap_bw", "atomic_write_bw", "flush_bw", "mcast_bw", "tcp_bw"));
  EXPECT_THAT(chosen_names({"read_lat", "read_*"}),
              ElementsAre("read_lat", "read_bw", "read_load"));
  EXPECT_EQ(chosen_names({"all"}).size(), catalog().size());
  EXPECT_TRUE(chosen_names({}).empty());
}

TEST(Catalog, RefusesUnknownTestsWithTheNearest) {
  EXPECT_THAT(refusal("send_latt"),
              HasSubstr("there is no test 'send_latt'; did you mean 'send_lat'?"));
  EXPECT_THAT(refusal("wirte_bw"), HasSubstr("did you mean 'write_bw'?"));
  EXPECT_THAT(refusal("zz*"), HasSubstr("there is no test 'zz*'"));
  EXPECT_THAT(refusal("send_lat,send_bw"), HasSubstr("separated by blanks"));
  EXPECT_FALSE(names_test("node7"));
  EXPECT_TRUE(names_test("*"));
}

TEST(Catalog, ListsALinePerTest) {
  const std::string text = catalog_text();
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), catalog().size());
}

}  // namespace
}  // namespace rdmameter
