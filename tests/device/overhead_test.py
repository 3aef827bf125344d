#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a repetition costs beside its own traffic: set-up, talk, judgement and the row."""
import statistics

import rdmameter

REPETITIONS = 20
# Emulated, the guest's CPUs share the machine's with everybody else, and each of the ten or so times that one
# end wakes the other costs a turn there.
LIMIT_S = 0.050 * rdmameter.SLOW


def traffic_seconds(row):
    """From the first post to the last completion; of a latency, without what lies between the samples."""
    if "bandwidth" in row:
        return row["bandwidth"]["traffic_ns"] / 1e9
    return int(row["latency"]["histogram"]["sum"]) / 1e9


class Overhead(rdmameter.Test):
    def overheads(self, test):
        server = self.serve()
        at = f"localhost:{server.port}"
        self.run_program(at, test, "--iterations", "10")  # the server is warm from here on
        run = self.start(at, test, "--size", "64", "--iterations", "1000", "--warmup", "0",
                         "--repetitions", str(REPETITIONS + 1))
        done = run.end(120)
        self.assertEqual(done.status, rdmameter.PASS, done)
        times = [when for when, line in run.arrivals if line.startswith(test)]
        self.assertEqual(len(times), REPETITIONS + 1)
        return sorted(end - begin - traffic_seconds(row)
                      for begin, end, row in zip(times, times[1:], done.rows[1:]))

    def test_a_repetition_of_1000_costs_less_than_50_ms_beyond_its_traffic(self):
        # Other load on the machine adds to most of them and takes from none; a sleep, a timeout or a slow step
        # of the program is in every one. So the cheapest is what the program itself costs.
        for test in ("read_lat", "send_lat", "write_bw"):
            with self.subTest(test):
                costs = self.overheads(test)
                rdmameter.note(f"{test}: {costs[0] * 1e3:.1f} ms (median of {REPETITIONS}: "
                               f"{statistics.median(costs) * 1e3:.1f} ms, most {costs[-1] * 1e3:.1f} ms)")
                self.assertLess(costs[0], LIMIT_S)


if __name__ == "__main__":
    rdmameter.main()
