#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what packages and the image say to what the build says: one version, one list of packages. One TAP line for each rule.

Usage: packaging_test.py SOURCE_ROOT
"""
import os
import re
import sys

# Packages of the group "build" that debian/control leaves out, each with the reason.
NOT_IN_CONTROL = {
    "g++": "build-essential has it",
    "ninja-build": "meson depends on it",
    "ibverbs-providers": "needed to run, not to build: the package recommends it",
    "openmpi-bin": "needed to run ranks, not to build: the package suggests an MPI",
}
# What debian/control alone has.
ONLY_IN_CONTROL = {"debhelper-compat"}


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def versions(root):
    """The version of meson.build and the upstream version of debian/changelog's newest entry."""
    built = re.search(r"^ *version: '([^']+)'", read(root, "meson.build"), re.M)
    packaged = re.match(r"rdmameter \(([^)]+)-[^-)]+\) ", read(root, "debian/changelog"))
    return built and built[1], packaged and packaged[1]


def group(root, name):
    """The packages of one group of tools/packages."""
    return set(" ".join(re.findall(rf"^{name}:(.*)$", read(root, "tools/packages"), re.M)).split())


def build_depends(root):
    """The packages in Build-Depends, without versions and architectures."""
    field = re.search(r"^Build-Depends:(.*(?:\n .*)*)", read(root, "debian/control"), re.M)
    return {re.split(r"[ :(]", each.strip())[0] for each in field[1].split(",")}


def build_depends_faults(root):
    wanted, found = group(root, "build"), build_depends(root)
    return ([f"Build-Depends lacks {each}, which tools/packages has" for each in sorted(wanted - found - set(NOT_IN_CONTROL))]
            + [f"tools/packages lacks {each}, which Build-Depends has" for each in sorted(found - wanted - ONLY_IN_CONTROL)]
            + [f"{each} is in Build-Depends, although {reason}" for each, reason in NOT_IN_CONTROL.items() if each in found]
            + [f"{each} is excused, but not in tools/packages" for each in NOT_IN_CONTROL if each not in wanted])


def instructions(root):
    """The instructions of the Containerfile: (word, rest), lines joined."""
    text = re.sub(r"(?m)^#.*\n", "", read(root, "packaging/Containerfile")).replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def container_faults(root):
    """Both builds take the same packages and the same of Meson's options, and the image's user is not root."""
    found = instructions(root)
    text = "\n".join(" ".join(each) for each in found)
    groups = re.findall(r"install-packages (\w+)", text) + re.findall(r"install-packages (\w+)$",
                                                                     read(root, "packaging/make-container"), re.M)
    recommended = re.search(r"^Recommends: (.*)$", read(root, "debian/control"), re.M)[1]
    in_package = set(re.findall(r"-D(\w+=\w+)", read(root, "debian/rules")))
    in_image = set(re.findall(r"-D(\w+=\w+)", text))
    users = [rest for word, rest in found if word == "USER"]
    copied = [path for word, rest in found if word == "COPY" and not rest.startswith("--from") for path in rest.split()[:-1]]
    return ([f"tools/packages has no group {each}" for each in groups if not group(root, each)]
            + ([] if "build" in groups else ["the image does not install the group 'build'"])
            + ([] if recommended in text else [f"the image lacks {recommended}, which debian/control recommends"])
            + [f"only one of debian/rules and Containerfile has -D{each}" for each in sorted(in_package ^ in_image)]
            + ([] if users and not users[-1].startswith(("0", "root")) else ["the image's user is root"])
            + [f"COPY {each}: there is no such file" for each in copied if not os.path.exists(os.path.join(root, each))])


def ignored_faults(root):
    """What git ignores does not reach the image either, but for the charts."""
    ignored = read(root, ".containerignore").splitlines()
    wanted = {".git", "build*", "node_modules/*", "!node_modules/echarts"}
    return [f".containerignore lacks {each}" for each in sorted(wanted - set(ignored))]


def main():
    root = sys.argv[1]
    built, packaged = versions(root)
    claims = {
        "debian/changelog has the version of meson.build":
            [] if built and built == packaged else [f"meson.build: {built}, debian/changelog: {packaged}"],
        "Build-Depends in debian/control is the group 'build' of tools/packages": build_depends_faults(root),
        "packaging/Containerfile installs groups of tools/packages and builds as debian/rules does": container_faults(root),
        "the container image is built without what git ignores": ignored_faults(root),
    }
    for number, (claim, faults) in enumerate(claims.items(), 1):
        print(f"{'not ok' if faults else 'ok'} {number} - {claim}")
        for fault in faults:
            print(f"# {fault}")
    print(f"1..{len(claims)}")
    return any(claims.values())


if __name__ == "__main__":
    sys.exit(main())
