// SPDX-License-Identifier: Apache-2.0
#include "core/result/result_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include "core/base/error.h"
#include "core/result/row_json.h"
#include "tests/reports/samples.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

/// The text of the UsageError that reading gives; empty: it was read.
std::string refusal(const std::string& path) {
  try {
    read_result(path);
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string(error.what()).find(path), 0U) << error.what();
    return error.what();
  }
  return "";
}

std::string refusal_of_text(const std::string& text) {
  const ScratchDirectory scratch;
  write_file(scratch.path("r.json"), text);
  return refusal(scratch.path("r.json"));
}

std::string good_text() {
  const ScratchDirectory scratch;
  ResultWriter writer(scratch.path("r.json"), sample_context());
  for (const Row& row : sample_rows()) writer.append(row);
  return read_file(scratch.path("r.json"));
}

bool names_errno(const ResultFileError& error, int number) {
  return std::string(error.what()).find(std::strerror(number)) != std::string::npos;
}

/// Runs `body` in a process of its own whose files cannot grow beyond `bytes`.
template <class Body>
int with_file_size_limit(std::uint64_t bytes, Body body) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{bytes, bytes};
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(ResultWriter, FileIsWholeAfterTheContextAndAfterEachRow) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path("r.json");
  ResultWriter writer(path, sample_context());
  EXPECT_EQ(read_result(path).rows.size(), 0U);
  std::size_t expected = 0;
  for (const Row& row : sample_rows()) {
    writer.append(row);
    const ResultFile file = read_result(path);
    ASSERT_EQ(file.rows.size(), ++expected);
    EXPECT_EQ(writer.rows(), expected);
    EXPECT_EQ(row_to_json(file.rows.back()).dump(), row_to_json(row).dump());
  }
  EXPECT_EQ(read_result(path).context.dump(), sample_context().dump());
}

TEST(ResultWriter, AppendingLeavesTheRowsBeforeUntouched) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path("r.json");
  ResultWriter writer(path, sample_context());
  writer.append(latency_row("rc", 2, 0, 2));
  const std::string one = read_file(path);
  writer.append(latency_row("rc", 2, 1, 2));
  const std::string body = one.substr(0, one.size() - 4);  // without "\n]}\n"
  EXPECT_EQ(read_file(path).compare(0, body.size(), body), 0);
}

TEST(ResultWriter, ReplacesAFileThatWasThereWithItsFirstRowAndNotBefore) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path("r.json"), older(100'000, 'x');
  write_file(path, older);
  ResultWriter writer(path, sample_context());
  EXPECT_EQ(read_file(path), older);
  writer.append(bandwidth_row(64, 0, 2));
  EXPECT_EQ(read_result(path).rows.size(), 1U);
  writer.append(bandwidth_row(64, 1, 2));
  EXPECT_EQ(read_result(path).rows.size(), 2U);
}

TEST(ResultWriter, WithoutARowLeavesTheFileThatWasThere) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path("r.json");
  write_file(path, "older");
  ResultWriter(path, sample_context()).finish();
  EXPECT_EQ(read_file(path), "older");
}

TEST(ResultWriter, WhoseFirstRowDoesNotFitLeavesTheFileThatWasThere) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path("r.json");
  write_file(path, "older");
  EXPECT_EQ(with_file_size_limit(4'000,
                                 [&] {
                                   ResultWriter writer(path, sample_context());
                                   try {
                                     writer.append(latency_row("rc", 2, 0, 1));  // some 6 KB
                                   } catch (const ResultFileError& error) {
                                     return names_errno(error, EFBIG) ? EFBIG : 2;
                                   }
                                   return 0;
                                 }),
            EFBIG);
  EXPECT_EQ(read_file(path), "older");
}

TEST(ResultWriter, OfAWholeResultReplacesNothingUntilItIsFinished) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path("r.json");
  write_file(path, "older");
  const auto write = [&](bool finish) {
    ResultWriter writer(path, sample_context(), Replacing::when_finished);
    for (const Row& row : sample_rows()) writer.append(row);
    EXPECT_EQ(read_file(path), "older");
    if (finish) writer.finish();
  };
  write(false);
  EXPECT_EQ(read_file(path), "older");
  write(true);
  EXPECT_EQ(read_result(path).rows.size(), sample_rows().size());
}

/// Kills a process that replaces the result at `path` over and over.
void kill_a_writer(const std::string& path, useconds_t after_us) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    const Row row = bandwidth_row(64, 0, 1);
    if (write(ends[1], "x", 1) != 1) _exit(1);
    for (;;) ResultWriter(path, sample_context()).append(row);
  }
  char begun = 0;
  ASSERT_EQ(read(ends[0], &begun, 1), 1);
  usleep(after_us);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
}

TEST(ResultWriter, KilledWhileItReplacesAFileLeavesTheOlderOrAValidNewerOne) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path("r.json");
  ResultWriter(path, sample_context()).append(bandwidth_row(64, 0, 1));
  for (useconds_t i = 0; i < 60; ++i) {
    kill_a_writer(path, i * 37);
    ASSERT_GE(read_result(path).rows.size(), 1U) << "after " << i * 37 << " us";
  }
}

TEST(ResultWriter, LocksTheFileThatItIsToReplace) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path("r.json");
  write_file(path, "older");
  ResultWriter first(path, sample_context());
  EXPECT_THROW(ResultWriter(path, sample_context()), UsageError);
  first.append(bandwidth_row(64, 0, 1));
  EXPECT_THROW(ResultWriter(path, sample_context()), UsageError);
  EXPECT_EQ(read_result(path).rows.size(), 1U);
}

TEST(ResultWriter, RefusesAPathThatCannotBeWritten) {
  EXPECT_THROW(ResultWriter("/nowhere/at/all.json", sample_context()), UsageError);
  EXPECT_THROW(ResultWriter("/", sample_context()), UsageError);
}

TEST(ResultWriter, TwoWritersDoNotShareAFile) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path("r.json");
  ResultWriter first(path, sample_context());
  first.append(bandwidth_row(64, 0, 1));
  EXPECT_THROW(ResultWriter(path, sample_context()), UsageError);
  EXPECT_EQ(read_result(path).rows.size(), 1U);
}

TEST(ResultWriter, TextThatIsNotUtf8DoesNotCostTheRow) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path("r.json");
  Row row = error_row(64);
  row.message = "bad \xff byte";
  ResultWriter(path, sample_context()).append(row);
  EXPECT_EQ(read_result(path).rows.at(0).message, "bad \uFFFD byte");
}

TEST(ResultWriter, APipeGetsAWholeResultInTheEnd) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path("fifo");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const pid_t child = fork();
  if (child == 0) {
    ResultWriter writer(path, sample_context());
    writer.append(bandwidth_row(64, 0, 1));
    writer.append(bandwidth_row(64, 0, 1));
    writer.finish();
    _exit(0);
  }
  EXPECT_EQ(read_result(path).rows.size(), 2U);
  waitpid(child, nullptr, 0);
}

TEST(ResultWriter, KeepsTheRowsWithTheResultsForOtherToolsAndWithoutThoseThatDoNotFit) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path("r.json");
  {
    ResultWriter writer(path, sample_context());
    writer.append(bandwidth_row(64, 0, 1));
    writer.finish("\"results\": {\n\"t_avg\": 1.50\n}");
  }
  const std::string whole = read_file(path);
  EXPECT_EQ(nlohmann::json::parse(whole)["results"], nlohmann::json({{"t_avg", 1.5}}));
  EXPECT_NE(whole.find("\n\"t_avg\": 1.50\n"), whole.npos);
  EXPECT_EQ(read_result(path).rows.size(), 1U);
  const int status = with_file_size_limit(whole.size() - 1, [&] {
    ResultWriter writer(path, sample_context());
    writer.append(bandwidth_row(64, 0, 1));
    try {
      writer.finish("\"results\": {\n\"t_avg\": 1.50\n}");
    } catch (const ResultFileError& error) {
      return names_errno(error, EFBIG) ? 0 : 2;
    }
    return 1;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_result(path).rows.size(), 1U);
}

TEST(ResultWriter, KeepsTheRowsBeforeTheOneThatDoesNotFit) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path("r.json");
  // Limits at every place: inside a row, at its end, inside the trailer.
  const Row row = bandwidth_row(64, 0, 1);
  std::uint64_t two_rows = 0, one_row = 0;
  {
    ResultWriter writer(path, sample_context());
    writer.append(row);
    one_row = read_file(path).size();
    writer.append(row);
    two_rows = read_file(path).size();
  }
  for (const std::uint64_t limit :
       {one_row, one_row + 1, two_rows - 100, two_rows - 4, two_rows - 1}) {
    const int status = with_file_size_limit(limit, [&] {
      ResultWriter writer(path, sample_context());
      writer.append(row);
      for (int attempt = 0; attempt < 2; ++attempt) {
        try {
          writer.append(row);
          return 1;
        } catch (const ResultFileError& error) {
          const std::string text = error.what();
          if (!names_errno(error, EFBIG) || text.find(path) != 0 ||
              text.find("1 row before it is safe") == text.npos)
            return 2;
        }
      }
      return 0;
    });
    EXPECT_EQ(status, 0) << limit;
    EXPECT_EQ(read_result(path).rows.size(), 1U) << limit;
  }
}

TEST(ResultWriter, GoesOnAfterARowThatDidNotFit) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path("r.json");
  const int status = with_file_size_limit(4'000, [&] {
    ResultWriter writer(path, sample_context());
    try {
      writer.append(latency_row("rc", 2, 0, 1));  // some 6 KB
      return 1;
    } catch (const ResultFileError&) {
    }
    writer.append(bandwidth_row(64, 0, 1));
    return 0;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_result(path).rows.size(), 1U);
}

TEST(ResultWriter, AFullDeviceIsAnErrorThatNamesIt) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "there is no /dev/full";
  try {
    ResultWriter writer("/dev/full", sample_context());
    FAIL() << "accepted";
  } catch (const ResultFileError& error) {
    EXPECT_TRUE(names_errno(error, ENOSPC));
    EXPECT_NE(std::string(error.what()).find("/dev/full"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("0 rows"), std::string::npos);
  }
}

TEST(MakeContext, SchemaCannotBeShadowed) {
  ContextParts parts;
  parts.google_benchmark = {{"date", "today"}, {"rdmameter", 7}};
  parts.extra = {{"schema", "other"}, {"plan", "p"}};
  const Json context = make_context(parts);
  EXPECT_EQ(context["date"], "today");
  EXPECT_EQ(context["rdmameter"]["schema"], kResultSchema);
  EXPECT_EQ(context["rdmameter"]["plan"], "p");
  EXPECT_EQ(context["rdmameter"]["responder"], nullptr);
}

TEST(ReadResult, NamesAFileThatIsNotThere) {
  EXPECT_NE(refusal("/nowhere/r.json").find("No such file"), std::string::npos);
}

TEST(ReadResult, RefusesADirectory) {
  const ScratchDirectory scratch;
  EXPECT_NE(refusal(scratch.path("")).find("cannot be read"), std::string::npos);
}

TEST(ReadResult, TellsAnEmptyFileFromACutOffOneFromOneThatIsNoJson) {
  EXPECT_NE(refusal_of_text("").find("is empty"), std::string::npos);
  EXPECT_NE(refusal_of_text(" \n").find("is empty"), std::string::npos);
  const std::string text = good_text();
  EXPECT_NE(
      refusal_of_text(text.substr(0, text.size() / 2)).find("cut off in the middle, at line "),
      std::string::npos);
  EXPECT_NE(refusal_of_text(text.substr(0, text.size() - 3)).find("cut off"), std::string::npos);
  EXPECT_NE(refusal_of_text("{\"context\": {},\n  oops}").find("is not JSON, at line 2, column 3"),
            std::string::npos);
  EXPECT_NE(refusal_of_text(text + "}").find("is not JSON, at line "), std::string::npos);
}

TEST(ReadResult, RefusesNumbersThatJsonDoesNotHave) {
  EXPECT_NE(refusal_of_text("{\"context\": NaN}").find("is not JSON"), std::string::npos);
  EXPECT_NE(refusal_of_text("{\"context\": 1e999}").find("is not JSON"), std::string::npos);
}

/// A result of so many skipped rows.
std::string text_of_rows(std::size_t count) {
  const std::string row = row_to_json(skipped_row(8192)).dump();
  std::string text = "{\"context\": " + sample_context().dump() + ", \"benchmarks\": [" + row;
  for (std::size_t i = 1; i < count; ++i) text += "," + row;
  return text + "]}";
}

/// CPU time of reading them [clocks].
double reading_takes(std::size_t count) {
  const ScratchDirectory scratch;
  write_file(scratch.path("r.json"), text_of_rows(count));
  const std::clock_t begin = std::clock();
  EXPECT_EQ(read_result(scratch.path("r.json")).rows.size(), count);
  return static_cast<double>(std::clock() - begin);
}

TEST(ReadResult, TakesTimeByRowsAndNotByTheirSquare) {
#ifdef RDMAMETER_SANITIZED
  GTEST_SKIP() << "times mean nothing under the sanitizers";
#endif
  const double few = reading_takes(8'000);
  EXPECT_LT(reading_takes(64'000), 14 * few) << "eight times as many";
}

TEST(ReadResult, TakesRowsBeforeTheirContext) {
  const ScratchDirectory scratch;
  write_file(scratch.path("r.json"), "{\"benchmarks\": [" + row_to_json(skipped_row(8192)).dump() +
                                         "], \"context\": " + sample_context().dump() + "}");
  EXPECT_EQ(read_result(scratch.path("r.json")).rows.size(), 1U);
}

TEST(ReadResult, TakesKeysWhoseLettersAreEscapedAndAByteOrderMark) {
  const ScratchDirectory scratch;
  write_file(scratch.path("r.json"), "\xEF\xBB\xBF{\"conte\\u0078t\": " + sample_context().dump() +
                                         ",\n \"benchmarks\" : [ ] , \"more\": [1, \"]\"]}\n");
  EXPECT_TRUE(read_result(scratch.path("r.json")).rows.empty());
}

TEST(ReadResult, TakesARowThatIsLongerThanWhatIsReadAtOnce) {
  const ScratchDirectory scratch;
  Row row = error_row(64);
  row.message = std::string(5'000'000, '}');
  ResultWriter writer(scratch.path("r.json"), sample_context());
  for (int i = 0; i < 3; ++i) writer.append(row);
  const ResultFile file = read_result(scratch.path("r.json"));
  ASSERT_EQ(file.rows.size(), 3U);
  EXPECT_EQ(file.rows[2].message, row.message);
}

TEST(ReadResult, RefusesWhatStandsBetweenItsRowsAndBehindThem) {
  const std::string row = row_to_json(skipped_row(8192)).dump();
  const std::string head = "{\"context\": " + sample_context().dump() + ", \"benchmarks\": ";
  for (const std::string& rows :
       {"[" + row + " " + row + "]", "[" + row + ",]", "[" + row + "}", "[," + row + "]",
        "[" + row + "], oops", "[" + row + "], \"x\" 3", "[" + row + "], \"x\": nonsense"})
    EXPECT_NE(refusal_of_text(head + rows + "}").find("is not JSON, at line 1"), std::string::npos)
        << rows;
  EXPECT_NE(refusal_of_text(head + "{}}").find("benchmarks is not an array"), std::string::npos);
}

TEST(ReadResult, NamesThePlaceOfAFaultInAPipe) {
  const ScratchDirectory scratch;
  const std::string path = scratch.path("fifo");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const pid_t child = fork();
  if (child == 0) {
    write_file(path, "{\"context\":\n oops}");
    _exit(0);
  }
  EXPECT_NE(refusal(path).find("is not JSON, at line 2, column 2"), std::string::npos);
  waitpid(child, nullptr, 0);
}

TEST(ReadResult, RefusesEndlessNesting) {
  EXPECT_NE(refusal_of_text(std::string(1'000'000, '[')).find("nests deeper"), std::string::npos);
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_NE(refusal_of_text("{\"context\": " + sample_context().dump() +
                            ", \"benchmarks\": [{\"case\": " + deep + "}]}")
                .find("nests deeper"),
            std::string::npos);
}

TEST(ReadResult, RefusesWhatIsNotOurs) {
  EXPECT_NE(refusal_of_text("[]").find("is not an object"), std::string::npos);
  EXPECT_NE(refusal_of_text("{\"benchmarks\": []}").find("\"context\" is missing"),
            std::string::npos);
  EXPECT_NE(refusal_of_text("{\"context\": {\"date\": \"\"}, \"benchmarks\": []}")
                .find("not a result of rdmameter"),
            std::string::npos);
}

/// The good file with one value changed (null: taken away).
std::string mutated(const char* pointer, const Json& value) {
  Json json = Json::parse(good_text());
  const Json::json_pointer where(pointer);
  if (value.is_null())
    json[where.parent_pointer()].erase(where.back());
  else
    json[where] = value;
  return json.dump();
}

TEST(ReadResult, RefusesDefaultsThatAreNone) {
  for (const nlohmann::ordered_json& defaults :
       {nlohmann::ordered_json(1),
        nlohmann::ordered_json{{"latency", nlohmann::ordered_json::object()}},
        nlohmann::ordered_json{{"latency", 1}}})
    EXPECT_NE(refusal_of_text(mutated("/context/rdmameter/defaults", defaults)).find("defaults"),
              std::string::npos)
        << defaults.dump();
}

TEST(ReadResult, RefusesAnotherSchemaAndMissingKeys) {
  EXPECT_NE(refusal_of_text(mutated("/context/rdmameter/schema", "rdmameter.result.v2"))
                .find("\"rdmameter.result.v2\", and this version reads \"rdmameter.result.v1\""),
            std::string::npos);
  for (const char* pointer :
       {"/context/rdmameter/schema", "/context/rdmameter/version", "/context/rdmameter/command",
        "/context/rdmameter/floor", "/context/rdmameter/initiator", "/context/rdmameter/responder",
        "/benchmarks"})
    EXPECT_NE(refusal_of_text(mutated(pointer, nullptr)).find("is missing"), std::string::npos)
        << pointer;
}

TEST(ReadResult, NamesTheRowThatIsWrong) {
  const std::string text = refusal_of_text(mutated("/benchmarks/1/iterations", -1));
  EXPECT_NE(text.find("row 2 (send_lat/rc/size:2): iterations is negative"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace rdmameter
