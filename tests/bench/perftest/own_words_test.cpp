// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "bench/perftest/command_line.h"

namespace rdmameter {
namespace {

TEST(PerftestWords, AreThoseOfTheToolForEachAxisThatItHas) {
  const auto said = [](const char* text) { return in_words_of_perftest(text); };
  EXPECT_EQ(said("use --size 4096 or --transport rc"), "use -s 4096 or -c RC");
  EXPECT_EQ(said("--port-num 3: soft0 has the ports 1 to 1"), "-i 3: soft0 has the ports 1 to 1");
  EXPECT_EQ(said("choose --gid-index and --peer-gid-index of one network."),
            "choose -x and -x of the other end of one network.");
  EXPECT_EQ(said("--outstanding-reads 99: the two ends allow at most 16"),
            "-o 99: the two ends allow at most 16");
  EXPECT_EQ(said("use fewer --qps, a smaller --depth"), "use fewer -q, a smaller -t");
  EXPECT_EQ(said("use --inline 96 or --inline max"), "use -I 96 or less");
  EXPECT_EQ(said("use --api classic"), "use --use_old_post_send");
  EXPECT_EQ(said("--gpu-registration data-direct: no: use --gpu-registration auto"),
            "--use_data_direct: no: leave out --use_data_direct, --use_cuda_dmabuf and "
            "--use_rocm_dmabuf");
  EXPECT_EQ(said("(--device or --peer-device)"), "(-d or -d of the other end)");
}

TEST(PerftestWords, NameWhatTheToolHasNotAsAnOptionOfRun) {
  EXPECT_EQ(in_words_of_perftest("--cq-sharing per-qp"), "`rdmameter run --cq-sharing` per-qp");
}

TEST(PerftestWords, LeavePerftestsOwnOptionsAndQuotedCommandsAlone) {
  for (const char* text :
       {"-s, --size: give one", "use --out_json_file FILE", "a--size", "give --token-file",
        "use `rdmameter run HOST write_load --rate RATE`", "--tclass 3",
        "it refused: \"--size: no such thing\"", "did you mean '--size'?", "-- and --"})
    EXPECT_EQ(in_words_of_perftest(text), text);
}

}  // namespace
}  // namespace rdmameter
