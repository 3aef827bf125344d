"""What GitHub, GitLab and Jenkins do with a job, as far as the examples of docs/examples/ and action.yml use it.

The steps are those of the files; here is only what surrounds them: variables, shells, caches, artefacts, what a status means. What is
written in another way than these know is an error.
"""
import glob
import os
import re
import shutil
import subprocess

import plain_yaml

PASSED, WARNED, FAILED = "passed", "warned", "failed"
ACTION = "example/rdmameter@0123456789abcdef0123456789abcdef01234567"  # as a user writes it
PLACEHOLDER = "OWNER/rdmameter@REF"
LIMIT = 120  # [s], of a step; it takes well below one


class Step:
    def __init__(self, shell, script, folder, environment):
        done = subprocess.run([*shell, script], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=LIMIT, check=False)
        self.status, self.log = done.returncode, done.stdout + done.stderr


def copy(source, target):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.isdir(source):
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        shutil.copy(source, target)


class GitHub:
    """A runner: a folder for each job, and what outlives jobs: caches by their keys, artefacts by their names."""

    def __init__(self, root, environment, action_path, action):
        self.root, self.environment, self.action_path, self.action = root, environment, action_path, action
        self.caches, self.artefacts, self.jobs = os.path.join(root, "caches"), os.path.join(root, "artefacts"), 0
        self.order = []  # of the caches, the newest last

    def job(self, steps, files, overrides=None, **github):
        """Runs `steps` in a new folder that holds `files` {name: text}. `overrides` replace inputs of our action."""
        self.jobs += 1
        self.github = {"run_id": str(self.jobs), "run_attempt": "1", "event_name": "push", "ref": "refs/heads/main",
                       "event.repository.default_branch": "main", "sha": "0123456789abcdef", **github}
        self.folder, self.files, self.overrides = os.path.join(self.root, f"job{self.jobs}"), files, overrides or {}
        os.mkdir(self.folder)
        self.log = self.summary = ""
        self.outcome, self.outputs = self._steps(steps, {}, None)
        return self.outcome

    def _steps(self, steps, inputs, action_path):
        known = {**{f"inputs.{name}": value for name, value in inputs.items()},
                 **{f"github.{name}": value for name, value in self.github.items()}, "secrets.RDMAMETER_TOKEN": ""}
        for step in steps:
            if not self._true(step.get("if"), known):
                continue
            status, outputs = self._step(step, known, action_path)
            known.update({f"steps.{step['id']}.outputs.{name}": value for name, value in outputs.items()} if "id" in step else {})
            if status:
                return status, known
        return 0, known

    def _value(self, expression, known):
        if expression not in known and not expression.startswith("steps."):
            raise KeyError(expression)
        return known.get(expression, "")

    def _filled(self, text, known):
        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda match: self._value(match[1], known), text)

    def _true(self, condition, known):
        for term in condition.split(" && ") if condition else []:
            match = re.fullmatch(r"([\w.-]+) == '([^']*)'", term)
            if self._value(match[1], known) != match[2]:
                return False
        return True

    def _step(self, step, known, action_path):
        if "run" in step:
            return self._run(step, known, action_path)
        given = {name: self._filled(value, known) for name, value in step.get("with", {}).items()}
        name = step["uses"].partition("@")[0]
        if name == ACTION.partition("@")[0]:
            return self._our_action(given)
        {"actions/checkout": self._checkout, "actions/cache/restore": self._restore, "actions/cache/save": self._save,
         "actions/upload-artifact": self._upload}[name](given)
        return 0, {}

    def _run(self, step, known, action_path):
        if step["shell"] != "bash":
            raise ValueError(step["shell"])
        files = {name: os.path.join(self.root, name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for path in files.values():
            with open(path, "w", encoding="utf-8"):
                pass
        done = Step(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"], step["run"], self.folder, {
            **self.environment, **files, "CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": self.folder,
            "RUNNER_TEMP": os.path.join(self.root, "temp"), "GITHUB_EVENT_NAME": self.github["event_name"],
            "GITHUB_REF": self.github["ref"], "GITHUB_SHA": self.github["sha"],
            **({"GITHUB_ACTION_PATH": action_path} if action_path else {}),
            **{name: self._filled(value, known) for name, value in step.get("env", {}).items()}})
        self.log += done.log
        with open(files["GITHUB_STEP_SUMMARY"], encoding="utf-8") as file:
            self.summary += file.read()
        with open(files["GITHUB_OUTPUT"], encoding="utf-8") as file:
            return done.status, dict(line.rstrip("\n").split("=", 1) for line in file)

    def _our_action(self, given):
        declared = self.action["inputs"]
        given = {**given, **self.overrides}
        if unknown := given.keys() - declared.keys():
            raise KeyError(unknown)
        inputs = {name: given.get(name, each.get("default")) for name, each in declared.items()}
        if None in inputs.values():
            raise KeyError("an input that is required")
        status, known = self._steps(self.action["runs"]["steps"], inputs, self.action_path)
        return status, {name: self._filled(each["value"], known) for name, each in self.action["outputs"].items()}

    def _checkout(self, _):
        for name, text in self.files.items():
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)

    def _cached(self, key, path):
        return os.path.join(self.caches, key, path)

    def _restore(self, given):
        for key in reversed(self.order):
            if key.startswith(given["restore-keys"]) and os.path.exists(self._cached(key, given["path"])):
                copy(self._cached(key, given["path"]), os.path.join(self.folder, given["path"]))
                return

    def _save(self, given):
        copy(os.path.join(self.folder, given["path"]), self._cached(given["key"], given["path"]))
        self.order.append(given["key"])

    def _upload(self, given):
        shutil.rmtree(self.artefacts, ignore_errors=True)
        if os.path.exists(os.path.join(self.folder, given["path"])):  # else it warns
            copy(os.path.join(self.folder, given["path"]), os.path.join(self.artefacts, given["name"]))

    def scripts(self):
        return [step["run"] for step in self.action["runs"]["steps"] if "run" in step]


class GitLab:
    """One runner and its cache. Pipelines are of a push to the default branch or of a merge request."""

    def __init__(self, root, environment, text, job):
        document = plain_yaml.load(text)
        self.root, self.environment, self.variables, self.job_text = root, environment, document["variables"], document[job]
        self.cache, self.jobs = os.path.join(root, "cache"), 0

    def _rule_variables(self, predefined):
        for rule in self.job_text["rules"]:
            left, right = rule["if"].split(" == ")
            filled = [re.sub(r"\$(\w+)", lambda match: predefined.get(match[1], ""), side.strip('"')) for side in (left, right)]
            if filled[0] == filled[1]:
                return rule.get("variables", {})
        raise LookupError("no rule takes this pipeline")

    def job(self, files, variables, source="push", shell="bash"):
        self.jobs += 1
        self.folder = os.path.join(self.root, f"job{self.jobs}")
        os.mkdir(self.folder)
        for name, text in files.items():
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        predefined = {"CI": "true", "GITLAB_CI": "true", "CI_PROJECT_DIR": self.folder, "CI_DEFAULT_BRANCH": "main",
                      "CI_PIPELINE_SOURCE": source, **({"CI_COMMIT_BRANCH": "main"} if source == "push" else {})}
        given = {**predefined, **self.variables, **self.job_text["variables"], **self._rule_variables(predefined), **variables}
        cache = self.job_text["cache"]
        policy = given[cache["policy"].lstrip("$")]
        [path] = cache["paths"]
        if os.path.exists(self.cache):
            copy(self.cache, os.path.join(self.folder, path))
        options = ["-eo", "pipefail"] if shell == "bash" else ["-e"]
        done = Step([shell, *options, "-c"], "\n".join(self.job_text["script"]), self.folder, {**self.environment, **given})
        if policy == "pull-push" and (done.status == 0 or cache["when"] == "always") and os.path.exists(f"{self.folder}/{path}"):
            copy(f"{self.folder}/{path}", self.cache)
        self.status, self.log = done.status, done.log
        [self.results], self.junit = self.job_text["artifacts"]["paths"], self.job_text["artifacts"]["reports"]["junit"]
        allowed = [int(code) for code in self.job_text["allow_failure"]["exit_codes"]]
        return PASSED if done.status == 0 else WARNED if done.status in allowed else FAILED

    def scripts(self):
        return self.job_text["script"]


class Jenkins:
    """An agent with a home folder and a workspace that the next build finds as the last one left it."""

    SCRIPT = re.compile(r"int status = sh\(label: '[^']*', returnStatus: true, script: '''\n(.*?)'''\)\s*"
                        r"if \(status == (\d+)\) \{\s*unstable\(.*?\)\s*\} else if \(status != 0\) \{\s*error\(.*?\)\s*\}\n", re.S)

    def __init__(self, root, environment, text):
        self.environment, self.home, self.folder = environment, os.path.join(root, "home"), os.path.join(root, "workspace")
        os.mkdir(self.home)
        os.mkdir(self.folder)
        self.variables = dict(re.findall(r"(?m)^ +(RDMA_\w+) = '([^'\n]*)'", text))
        [(self.script, unstable)] = self.SCRIPT.findall(text)
        self.unstable = int(unstable)
        [self.junit] = re.findall(r"junit testResults: '([^']*)', allowEmptyResults: true", text)
        [self.archived] = re.findall(r"archiveArtifacts artifacts: '([^']*)', allowEmptyArchive: true", text)

    def job(self, files, variables, branch=None):
        for name, text in files.items():
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        done = Step(["sh", "-xe", "-c"], self.script, self.folder, {
            **self.environment, "HOME": self.home, "WORKSPACE": self.folder, "JOB_NAME": "rdma", "BUILD_NUMBER": "1",
            **({"BRANCH_NAME": branch} if branch else {}), **self.variables, **variables})
        self.status, self.log = done.status, done.log
        return PASSED if done.status == 0 else WARNED if done.status == self.unstable else FAILED

    def artefacts(self):
        return {os.path.basename(path) for path in glob.glob(os.path.join(self.folder, self.archived))}

    def scripts(self):
        return [self.script]
