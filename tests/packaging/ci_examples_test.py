#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The action for GitHub and the examples for CI systems: their own steps, run in empty folders on the null device.

Usage: ci_examples_test.py PATH_OF_RDMAMETER SOURCE_ROOT [unittest's arguments]
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import plain_yaml
from ci_systems import ACTION, FAILED, PASSED, PLACEHOLDER, WARNED, GitHub, GitLab, Jenkins

PROGRAM = ROOT = None
MEASURED, JUDGED = {"new.json", "report.html"}, {"junit.xml", "summary.md", "annotations.txt"}
NULL = "--device=null"
PLAN = """
gates = {gates}
[[suite]]
tests = ["write_lat"]
axes = {{ size = {sizes}, iterations = 1000 }}
"""
# What a tool of the action's checkout or of the machine does here.
STUBS = {"tools/install-packages": 'echo "installs $*"', "tools/install-npm": "exit 2",
         "tools/rxe-vm": 'while [ "$1" != -- ]; do echo "vm $1"; shift; done; shift; exec "$@"',
         "bin/meson": 'mkdir -p "$2"; [ -e "$3/tools/rxe-vm" ]', "bin/ninja": 'cp "$PROGRAM_UNDER_TEST" "$2/$3"'}


def source(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def github_workflow():
    """The example as its user has it."""
    return plain_yaml.load(source("docs/examples/github-workflow.yml").replace(PLACEHOLDER, ACTION))


def plan(gates=("work",), sizes=(64,)):
    return {"rdma.toml": PLAN.format(gates=json.dumps(list(gates)), sizes=list(sizes))}


SAME = plan()
WORSE = plan(gates=("work", "* latency.p50 <= 1ns"))
LARGER = plan(sizes=(64, 128))


class Examples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name in ("bin", "temp", "home", "ci"):
            os.mkdir(self.path(name))
        self.environment = {"PATH": f"{self.path('bin')}:/usr/local/bin:/usr/bin:/bin", "HOME": self.path("home"), "LANG": "C.UTF-8",
                            "TMPDIR": self.path("temp"), "PROGRAM_UNDER_TEST": PROGRAM,
                            **{name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}}

    def path(self, name):
        return os.path.join(self.folder, name)

    def script(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(f"#!/bin/bash\nset -e\n{text}\n")
        os.chmod(self.path(name), 0o755)

    def install(self, text=None):
        """rdmameter on the PATH, or what `text` says instead of it."""
        self.script("bin/rdmameter", text or f'exec "{PROGRAM}" "$@"')

    def install_strict(self):
        self.install(f'[ "$1" != ci ] || {{ shift; set -- ci --strict "$@"; }}; exec "{PROGRAM}" "$@"')

    def whole(self, folder, judged=True):
        """The artefacts in `folder` are there and what they should be."""
        expected = MEASURED | (JUDGED if judged else set())
        self.assertLessEqual(expected, set(os.listdir(folder)))
        with open(os.path.join(folder, "new.json"), encoding="utf-8") as file:
            self.assertTrue(json.load(file)["benchmarks"])
        with open(os.path.join(folder, "report.html"), encoding="utf-8") as file:
            self.assertIn("</html>", file.read())
        if judged:
            self.assertEqual(xml.etree.ElementTree.parse(os.path.join(folder, "junit.xml")).getroot().tag, "testsuites")
        return folder


def content(path):
    with open(path, "rb") as file:
        return file.read()


class OnGitHub(Examples):
    def setUp(self):
        super().setUp()
        for name, text in STUBS.items():
            self.script(name, text)
        self.action = plain_yaml.load(source("action.yml"))
        self.github = GitHub(self.path("ci"), self.environment, self.folder, self.action)

    def measure(self, files=SAME, overrides=None, **github):
        steps = [{"uses": "actions/checkout@v4"}, {"id": "ours", "uses": ACTION,
                                                   "with": {"plan": "rdma.toml", "run": NULL, **(overrides or {})}}]
        return self.github.job(steps, files, **github)

    def artefacts(self, name="rdmameter"):
        return os.path.join(self.github.artefacts, name)

    def test_first_run_of_the_default_branch_warns_and_makes_the_base(self):
        self.install()
        self.assertEqual(self.measure(), 0, self.github.log)
        self.assertIn("::warning title=rdmameter::There was no base", self.github.log)
        self.assertIn("nothing is judged", self.github.summary)
        self.assertEqual(self.github.outputs["steps.ours.outputs.status"], "3")
        self.whole(self.artefacts(), judged=False)
        self.assertEqual(len(self.github.order), 1)

    def test_an_unproven_result_is_never_made_a_base_by_an_option(self):
        self.install()
        self.assertEqual(self.measure(overrides={"options": "--strict\n--inconclusive-ok"}), 2, self.github.log)
        self.assertIn("set not-proven to warn", self.github.log)

    def test_pull_request_before_any_base_is_not_proven_and_makes_none(self):
        self.install()
        for event in ("pull_request", "pull_request_target"):
            ref = "refs/heads/main" if event.endswith("target") else "refs/pull/7/merge"
            self.assertEqual(self.measure(event_name=event, ref=ref), 3, self.github.log)
        self.assertEqual(self.measure(overrides={"not-proven": "warn"}, ref="refs/heads/topic"), 0, self.github.log)
        self.assertIn("::warning title=rdmameter::Not proven", self.github.log)
        self.assertEqual(self.github.order, [])

    def test_equal_code_passes_with_every_artefact_and_is_the_next_base(self):
        self.install()
        self.measure()
        self.assertEqual(self.measure(), 0, self.github.log)
        self.assertNotIn("::warning", self.github.log)
        self.whole(self.artefacts())
        self.assertEqual(self.github.summary, content(self.artefacts() + "/summary.md").decode())
        self.assertEqual(len(self.github.order), 2)
        self.assertEqual(self.measure(ref="refs/pull/7/merge", event_name="pull_request"), 0, self.github.log)
        self.assertEqual(len(self.github.order), 2)

    def test_regression_fails_with_annotations_and_artefacts_and_is_no_base(self):
        self.install()
        self.measure()
        self.assertEqual(self.measure(WORSE), 1, self.github.log)
        self.assertIn("::error", self.github.log)
        self.whole(self.artefacts())
        self.assertEqual(len(self.github.order), 1)

    def test_not_proven_fails_or_warns_as_the_input_says_and_is_no_base(self):
        self.install()
        self.measure(LARGER)
        self.assertEqual(self.measure(overrides={"options": "--strict"}), 3, self.github.log)
        self.assertEqual(self.measure(overrides={"options": "--strict", "not-proven": "warn"}), 0, self.github.log)
        self.assertIn("::warning title=rdmameter::Not proven", self.github.log)
        self.assertEqual(len(self.github.order), 1)

    def test_base_of_the_caller_replaces_the_cache(self):
        self.install()
        self.measure()
        os.rename(self.artefacts(), self.path("base"))
        for given in ({"base": self.path("base/new.json")}, {"base-binary": PROGRAM, "options": "--runs=1"}):
            self.assertEqual(self.measure(overrides=given), 0, self.github.log)
            self.whole(self.artefacts())
        self.assertEqual(self.measure(overrides={"base": "nowhere.json"}), 2, self.github.log)
        self.assertIn("no verdict, status 2", self.github.summary)
        self.assertEqual(len(self.github.order), 1)

    def test_keep_base_says_which_branch_makes_bases(self):
        self.install()
        self.assertEqual(self.measure(overrides={"keep-base": "true"}, ref="refs/heads/release"), 0, self.github.log)
        self.assertEqual(self.measure(overrides={"keep-base": "false"}), 0, self.github.log)
        self.assertEqual(len(self.github.order), 1)

    def test_base_of_another_name_is_none(self):
        self.install()
        self.measure(overrides={"name": "a"})
        self.assertEqual(self.measure(overrides={"name": "a-b"}, ref="refs/heads/topic"), 3, self.github.log)

    def test_without_a_program_builds_its_own(self):
        self.assertEqual(self.measure(), 0, self.github.log)
        self.assertIn("installs build", self.github.log)
        self.assertEqual(self.github.outputs["steps.ours.outputs.program"], os.path.join(self.path("ci"), "temp/rdmameter/rdmameter"))

    def test_virtual_machine_runs_the_same_command(self):
        self.install()
        self.assertEqual(self.measure(overrides={"machine": "rxe-vm"}), 0, self.github.log)
        self.assertIn("installs vm", self.github.log)
        self.assertIn("vm --cpus", self.github.log)
        self.whole(self.artefacts(), judged=False)

    def test_an_argument_is_a_line_and_no_code(self):
        self.install()
        self.measure()
        options = "\n--gate=* latency.p50 <= 1ns\n\n--gate=work\n"
        self.assertEqual(self.measure(overrides={"options": options}), 1, self.github.log)
        hostile = "$(touch hostile) `touch hostile` ; touch hostile"
        for name in ("plan", "run", "options", "out", "machine", "base"):
            self.assertEqual(self.measure(overrides={name: hostile}), 0 if name == "out" else 2, name)
            self.assertFalse(os.path.exists(self.github.folder + "/hostile"), name)

    def test_a_word_that_an_input_does_not_take_is_refused(self):
        self.install()
        for name in ("machine", "not-proven", "keep-base"):
            self.assertEqual(self.measure(overrides={name: "sometimes"}), 2, self.github.log)
            self.assertIn(f"{name} is one of", self.github.log)

    def test_token_is_in_the_environment_and_neither_in_a_command_nor_in_the_log(self):
        self.install('printf "%s\\n" "$@" >>"$HOME/words"; echo "$RDMAMETER_TOKEN" >"$HOME/token"')
        token = "a-token-of-more-than-16-characters"
        self.measure(overrides={"token": token})
        self.assertEqual(content(self.path("home/token")).decode().strip(), token)
        self.assertIn(b"rdma.toml", content(self.path("home/words")))
        self.assertNotIn(token, content(self.path("home/words")).decode() + self.github.log + self.github.summary)

    def test_workflow_measures_and_keeps_a_history(self):
        self.install()
        workflow = github_workflow()
        steps = workflow["jobs"]["shared-runner"]["steps"]
        for commit in ("1" * 40, "2" * 40):
            self.assertEqual(self.github.job(steps, SAME, {"run": NULL}, sha=commit), 0, self.github.log)
        with open(self.github.folder + "/history.jsonl", encoding="utf-8") as file:
            self.assertEqual([json.loads(line)["commit"] for line in file], ["1" * 40, "2" * 40])
        self.whole(self.artefacts("rdma-shared"))

    def test_whatever_a_user_has_to_replace_is_marked_as_such(self):
        for path in ("docs/examples/github-workflow.yml", "docs/ci.md"):
            used = re.findall(rf"uses: {PLACEHOLDER}(.*)", source(path))
            self.assertEqual(set(used), {" # replace OWNER and REF"}, path)
        self.assertNotRegex(json.dumps(github_workflow()), r"\bOWNER\b|\bREF\b")

    def test_workflow_for_an_adapter_takes_the_inputs_of_the_action(self):
        self.install('[ "$1" = ci ] || exit 0; printf "%s\\n" "$@" >"$HOME/words"; exit 2')
        workflow = github_workflow()
        self.assertEqual(self.github.job(workflow["jobs"]["adapter"]["steps"], SAME), 2, self.github.log)
        words = content(self.path("home/words")).decode().splitlines()
        self.assertEqual(words[-3:], ["--", "192.0.2.1", "--device=mlx5_0"])
        self.assertLessEqual({"--strict", "--gate=work", "--gate=times"}, set(words))

    def test_action_is_found_by_the_name_of_the_repository_and_finds_its_tools(self):
        self.assertEqual(self.action["runs"]["using"], "composite")
        for tool in re.findall(r"\$GITHUB_ACTION_PATH/([\w/-]+)", source("action.yml")):
            self.assertTrue(os.access(os.path.join(ROOT, tool), os.X_OK), tool)
        for group in re.findall(r'install-packages" (\w+)', source("action.yml")):
            self.assertIn(f"\n{group}: ", source("tools/packages"))
        subprocess.run([os.path.join(ROOT, "tools/rxe-vm"), "run", "--cpus", "1", "--timeout", "1", "--help"], check=True,
                       stdout=subprocess.DEVNULL)


class OnGitLab(Examples):
    def setUp(self):
        super().setUp()
        self.gitlab = GitLab(self.path("ci"), self.environment, source("docs/examples/gitlab-ci.yml"), "rdma-performance")

    def measure(self, files=SAME, **more):
        return self.gitlab.job(files, {"RDMA_RUN": NULL}, **more)

    def results(self):
        return os.path.join(self.gitlab.folder, self.gitlab.results)

    def base(self):
        return content(os.path.join(self.gitlab.cache, "base.json"))

    def test_first_run_warns_and_makes_the_base_and_the_next_one_passes(self):
        self.install()
        for shell in ("bash", "sh"):
            shutil.rmtree(self.gitlab.cache, ignore_errors=True)
            self.assertEqual(self.measure(shell=shell), WARNED, self.gitlab.log)
            self.whole(self.results(), judged=False)
            first = self.base()
            self.assertEqual(self.measure(shell=shell), PASSED, self.gitlab.log)
            self.whole(self.results())
            self.assertTrue(os.path.exists(os.path.join(self.gitlab.folder, self.gitlab.junit)))
            self.assertNotEqual(self.base(), first)

    def test_regression_fails_and_not_proven_warns_and_neither_is_a_base(self):
        self.install_strict()
        self.measure(LARGER)
        base = self.base()
        self.assertEqual(self.measure(WORSE), FAILED, self.gitlab.log)
        self.assertEqual(self.gitlab.status, 1)
        self.whole(self.results())
        self.assertEqual(self.measure(), WARNED, self.gitlab.log)
        self.assertEqual(self.base(), base)

    def test_merge_request_reads_the_base_and_makes_none(self):
        self.install()
        self.assertEqual(self.measure(source="merge_request_event"), WARNED, self.gitlab.log)
        self.assertFalse(os.path.exists(self.gitlab.cache))
        self.measure()
        base = self.base()
        self.assertEqual(self.measure(source="merge_request_event"), PASSED, self.gitlab.log)
        self.assertEqual(self.base(), base)

    def test_what_cannot_be_measured_fails(self):
        self.install()
        self.assertEqual(self.measure({}), FAILED, self.gitlab.log)
        os.remove(self.path("bin/rdmameter"))
        self.assertEqual(self.measure(), FAILED, self.gitlab.log)
        self.assertIn("not found", self.gitlab.log)


class OnJenkins(Examples):
    def setUp(self):
        super().setUp()
        self.jenkins = Jenkins(self.path("ci"), self.environment, source("docs/examples/Jenkinsfile"))

    def measure(self, files=SAME, **more):
        return self.jenkins.job(files, {"RDMA_RUN": NULL}, **more)

    def base(self):
        return content(os.path.join(self.jenkins.home, self.jenkins.variables["RDMA_BASE"]))

    def test_first_build_is_unstable_and_makes_the_base_and_the_next_one_passes(self):
        self.install()
        self.assertEqual(self.measure(), WARNED, self.jenkins.log)
        self.assertLessEqual(MEASURED, self.jenkins.artefacts())
        first = self.base()
        self.assertEqual(self.measure(), PASSED, self.jenkins.log)
        self.assertLessEqual(MEASURED | JUDGED, self.jenkins.artefacts())
        self.whole(os.path.dirname(os.path.join(self.jenkins.folder, self.jenkins.junit)))
        self.assertNotEqual(self.base(), first)

    def test_regression_fails_and_not_proven_is_unstable_and_neither_is_a_base(self):
        self.install_strict()
        self.measure(LARGER)
        base = self.base()
        self.assertEqual(self.measure(WORSE), FAILED, self.jenkins.log)
        self.assertEqual(self.jenkins.status, 1)
        self.assertLessEqual(MEASURED | JUDGED, self.jenkins.artefacts())
        self.assertEqual(self.measure(), WARNED, self.jenkins.log)
        self.assertEqual(self.base(), base)

    def test_other_branches_read_the_base_and_make_none(self):
        self.install()
        self.assertEqual(self.measure(branch="PR-7"), WARNED, self.jenkins.log)
        self.assertEqual(os.listdir(self.jenkins.home), [])
        self.measure(branch="main")
        base = self.base()
        self.assertEqual(self.measure(branch="PR-7"), PASSED, self.jenkins.log)
        self.assertEqual(self.base(), base)

    def test_what_cannot_be_measured_fails_and_leaves_no_verdict_of_the_build_before(self):
        self.install()
        self.measure()
        self.measure()
        self.assertEqual(self.jenkins.job({}, {"RDMA_RUN": NULL, "RDMA_PLAN": "nowhere.toml"}), FAILED, self.jenkins.log)
        self.assertEqual(self.jenkins.artefacts(), set())

    def test_groovy_takes_the_script_as_it_is(self):
        self.assertNotIn("\\", self.jenkins.script)
        self.assertLessEqual({"RDMA_PLAN", "RDMA_RUN", "RDMA_BASE", "RDMA_BRANCH"}, set(self.jenkins.variables))


class Texts(Examples):
    def scripts(self):
        """(name, shell, script) of all steps."""
        action = GitHub(self.path("ci"), {}, "", plain_yaml.load(source("action.yml")))
        gitlab = GitLab(self.path("ci"), {}, source("docs/examples/gitlab-ci.yml"), "rdma-performance")
        os.mkdir(self.path("jenkins"))
        jenkins = Jenkins(self.path("jenkins"), {}, source("docs/examples/Jenkinsfile"))
        workflow = github_workflow()
        of_workflow = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
        return [*(("GitHub", "bash", script) for script in action.scripts() + of_workflow),
                *(("GitLab", "sh", script) for script in gitlab.scripts()),
                *(("Jenkins", "sh", script) for script in jenkins.scripts())]

    def test_no_expression_stands_in_a_script(self):
        for name, _, script in self.scripts():
            self.assertNotIn("${{", script, name)

    def test_scripts_pass_shellcheck(self):
        if not shutil.which("shellcheck"):
            self.skipTest("shellcheck is not installed")
        for name, shell, script in self.scripts():
            done = subprocess.run(["shellcheck", "-s", shell, "-S", "warning", "-"], input=script, capture_output=True, text=True, check=False)
            self.assertEqual(done.stdout, "", name)

    def test_nothing_of_this_repository_is_needed_by_the_examples(self):
        for name in ("github-workflow.yml", "gitlab-ci.yml", "Jenkinsfile", "kubernetes-check.yml", "slurm-prolog"):
            self.assertNotRegex(source(f"docs/examples/{name}"), r"(^|[ /])(tools|bench|build|tests)/", name)

    def test_page_has_every_input_with_its_default_and_quotes_the_examples(self):
        page, inputs = source("docs/ci.md"), plain_yaml.load(source("action.yml"))["inputs"]
        rows = dict(re.findall(r"(?m)^\| `([\w-]+)` \| (.*?) \|", page.partition("## On GitHub")[2].partition("\n## ")[0]))
        self.assertEqual(rows, {name: "required" if "required" in each else f"`{each['default']}`" if each["default"] else "none"
                                for name, each in inputs.items()})
        examples = ["".join(line.strip() + "\n" for line in source(f"docs/examples/{name}").splitlines())
                    for name in ("github-workflow.yml", "gitlab-ci.yml", "Jenkinsfile", "kubernetes-check.yml")]
        quoted = re.findall(r"```(?:yaml|groovy)\n(.*?)```", page, re.S)
        self.assertTrue(quoted)
        for text in quoted:
            lines = "".join(line.strip() + "\n" for line in text.splitlines())
            self.assertTrue(any(lines in example for example in examples), text)

    def test_what_is_no_plain_yaml_is_refused(self):
        for text in ("a: &b c\n", "a: b: c\n", "a: 1\na: 2\n", "a: >\n  b\n", "a: 'b\n", "a: b\n   c\n", "- a\nb: c\n", "a: {b: c}\n"):
            with self.assertRaises(plain_yaml.Unknown, msg=text):
                plain_yaml.load(text)


if __name__ == "__main__":
    PROGRAM, ROOT = (os.path.abspath(each) for each in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
