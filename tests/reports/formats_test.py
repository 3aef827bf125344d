#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What `export` and `compare` write, read as the tools that it is for read it.

OpenMetrics goes through the strict parser of Prometheus' own client library; BMF and the list of
github-action-benchmark are held to what their documentation says, the latter also to the pattern by which
its charts find the spread. The other formats have tests of their own: hdr-histogram-js, compare.py, JUnit.

Usage: formats_test.py RDMAMETER WRITE_SAMPLES
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

try:
    import jsonschema
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
except ImportError as error:
    print(f"skipped: python3-jsonschema and python3-prometheus-client are needed: {error}")
    sys.exit(77)

PROGRAM = WRITE_SAMPLES = None
# https://bencher.dev/docs/reference/bencher-metric-format; a measure's name becomes a slug of at most 64.
METRIC = {"type": "object", "required": ["value"], "additionalProperties": False,
          "properties": {key: {"type": "number"} for key in ("value", "lower_value", "upper_value")}}
BMF = {"type": "object", "propertyNames": {"minLength": 1, "maxLength": 1024},
       "additionalProperties": {"type": "object", "minProperties": 1, "additionalProperties": METRIC,
                                "propertyNames": {"pattern": "^[a-z0-9]+(-[a-z0-9]+)*$", "maxLength": 64}}}
# https://github.com/benchmark-action/github-action-benchmark, customSmallerIsBetter and customBiggerIsBetter
GITHUB = {"type": "array",
          "items": {"type": "object", "required": ["name", "unit", "value"], "additionalProperties": False,
                    "properties": {"name": {"type": "string", "minLength": 1}, "unit": {"type": "string"},
                                   "value": {"type": "number"}, "range": {"type": "string"},
                                   "extra": {"type": "string"}}}}
SPREAD = re.compile(r"^(\+-|±)\s*(\d.+)$")


class Formats(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        subprocess.run([WRITE_SAMPLES, folder.name], check=True)
        cls.samples = sorted(os.path.join(folder.name, name) for name in os.listdir(folder.name)
                             if name.endswith(".json"))

    def exports(self, form):
        """The texts of all samples that are results; every kind of row is among them."""
        results = [subprocess.run([PROGRAM, "export", sample, "--format", form], capture_output=True, text=True,
                                  timeout=60, stdin=subprocess.DEVNULL, check=False) for sample in self.samples]
        texts = [result.stdout for result in results if result.returncode == 0]
        self.assertGreaterEqual(len(texts), 3)
        return texts

    def test_openmetrics_by_prometheus_own_parser(self):
        for text in self.exports("openmetrics"):
            families = {family.name: family for family in text_string_to_metric_families(text)}
            self.assertIn("rdmameter_result_timestamp_seconds", families)
            for family in families.values():
                self.assertTrue(family.samples, family.name)
                self.assertTrue(family.documentation, family.name)

    def test_bmf_by_its_schema(self):
        measures = 0
        for text in self.exports("bmf"):
            measures += sum(map(len, json.loads(text).values()))
            jsonschema.validate(json.loads(text), BMF)
        self.assertGreater(measures, 20)

    def test_github_benchmark_by_its_documentation(self):
        ranges = 0
        for direction in ("github-smaller", "github-bigger"):
            for text in self.exports(direction):
                entries = json.loads(text)
                jsonschema.validate(entries, GITHUB)
                self.assertEqual(len({entry["name"] for entry in entries}), len(entries))
                for entry in entries:
                    if "range" in entry:
                        self.assertRegex(entry["range"], SPREAD)
                        float(SPREAD.match(entry["range"])[2])
                        ranges += 1
        self.assertGreater(ranges, 5)


if __name__ == "__main__":
    PROGRAM, WRITE_SAMPLES = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
