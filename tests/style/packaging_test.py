#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what packages say to what the build says: one version, one list of packages. One TAP line for each rule.

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


def main():
    root = sys.argv[1]
    built, packaged = versions(root)
    claims = {
        "debian/changelog has the version of meson.build":
            [] if built and built == packaged else [f"meson.build: {built}, debian/changelog: {packaged}"],
        "Build-Depends in debian/control is the group 'build' of tools/packages": build_depends_faults(root),
    }
    for number, (claim, faults) in enumerate(claims.items(), 1):
        print(f"{'not ok' if faults else 'ok'} {number} - {claim}")
        for fault in faults:
            print(f"# {fault}")
    print(f"1..{len(claims)}")
    return any(claims.values())


if __name__ == "__main__":
    sys.exit(main())
