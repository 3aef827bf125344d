// SPDX-License-Identifier: Apache-2.0
// HdrHistogram itself (npm hdr-histogram-js) reads what `rdmameter export` writes: every bucket,
// count and percentile is the result's.
// Usage: hdr_histogram_test.mjs RDMAMETER WRITE_SAMPLES NODE_MODULES      (status 77: hdr-histogram-js is not there)
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [program, writeSamples, modules] = process.argv.slice(2);
if (!existsSync(join(modules, "hdr-histogram-js"))) {
  console.log("skipped: hdr-histogram-js is not installed: tools/install-npm test");
  process.exit(77);
}
const hdr = createRequire(join(modules, "x"))("hdr-histogram-js");

const lowest = (index) => {
  const shift = Math.max((index >> 10) - 1, 0);
  return (index - (shift << 10)) * 2 ** shift;
};

/** {value of a bucket: samples}, as HdrHistogram counts them. */
function buckets(histogram) {
  const found = new Map();
  const length = histogram.countsArrayLength;
  for (let index = 0; index < length; index++) {
    const n = histogram.getCountAtIndex(index);
    if (n > 0) found.set(histogram.valueFromIndex(index), n);
  }
  return found;
}

function readLog(text) {
  const reader = new hdr.HistogramLogReader(text, 64);
  const histograms = [];
  for (let next; (next = reader.nextIntervalHistogram()) !== null; ) histograms.push(next);
  return histograms;
}

const directory = mkdtempSync(join(tmpdir(), "rdmameter-test-"));
try {
  execFileSync(writeSamples, [directory]);
  const base = join(directory, "base.json");
  const rows = JSON.parse(readFileSync(base, "utf8")).benchmarks.filter((row) => row.latency);
  const run = (...args) => execFileSync(program, ["export", base, ...args], { encoding: "utf8" });

  const log = run("--format", "hdr-log");
  const histograms = readLog(log);
  assert.equal(histograms.length, rows.length);
  let compared = 0;
  rows.forEach((row, i) => {
    const ours = row.latency.histogram;
    const theirs = histograms[i];
    assert.equal(theirs.tag, row.run_name);
    assert.equal(theirs.totalCount, ours.count);
    assert.deepEqual(buckets(theirs), new Map(ours.index.map((index, k) => [lowest(index), ours.n[k]])));
    for (const percent of [50, 90, 99, 99.9]) {
      const told = row.latency[`p${percent}`];
      if (told === null) continue;
      // Theirs is the bucket's highest value, ours its middle.
      const value = theirs.getValueAtPercentile(percent);
      assert.ok(Math.abs(value - told) <= told * 0.0005 + 1, `${row.name} p${percent}: ${value}, ${told}`);
      compared++;
    }
  });
  assert.ok(compared > 15, `${compared}`);
  assert.deepEqual(hdr.listTags(log), [...new Set(rows.map((row) => row.run_name))]);

  // The table of percentiles, of half round trips, against the one that HdrHistogram itself prints of whole ones.
  const name = "send_lat/rc/size:1024";
  const merged = hdr.build({ bitBucketSize: 64, highestTrackableValue: 2 ** 41 - 1, numberOfSignificantValueDigits: 3 });
  histograms.filter((histogram) => histogram.tag === name).forEach((histogram) => merged.add(histogram));
  const cells = (text) => text.split("\n").map((line) => line.trim().split(/[\s,\]]+/)).filter((line) => line[0]);
  const table = run("--format", "hgrm", "--case", name);
  assert.match(table, /^#\[Values in µs, half round trip\]$/m);
  const ours = cells(table);
  const theirs = cells(merged.outputPercentileDistribution(5, 2000));
  const numbers = (lines) => lines.filter((line) => /^[\d.]+$/.test(line[0])).map((line) => line.map(Number));
  const [left, right] = [numbers(ours), numbers(theirs)];
  assert.ok(left.length > 40);
  assert.equal(left.length, right.length);
  left.forEach((line, i) => {
    assert.equal(line.length, i + 1 === left.length ? 3 : 4);
    // Half a nanosecond is rounded up by one and to even by the other: the value's last digit may differ.
    line.forEach((number, k) => assert.ok(Math.abs(number - right[i][k]) < (k === 0 ? 0.001 : 0) + 1e-6, `${line} | ${right[i]}`));
  });
  console.log(`${histograms.length} histograms, ${compared} percentiles, ${left.length} lines agree`);
} finally {
  rmSync(directory, { recursive: true });
}
