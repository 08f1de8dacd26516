#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sbom.py VERSION VERSIONS TIME: the bill of materials of a release in CycloneDX's JSON, to standard output.

VERSIONS has a line "NAME VERSION" for each of Debian's sources that is linked into the tools of the wheel (scripts/wheel.sh). What
the packages depend on, they say themselves.
"""
import json
import subprocess
import sys
import urllib.parse

LICENCES = {"jansson": "MIT", "libmicrohttpd": "LGPL-2.1-or-later", "util-linux": "LGPL-2.1-or-later",
            "libncurses": "X11-distribute-modifications-variant", "dygraphs": "MIT"}


def component(name, version):
    return {"type": "library", "name": name, "version": version, "purl": f"pkg:deb/debian/{name}@{urllib.parse.quote(version)}?arch=source",
            "licenses": [{"license": {"id": LICENCES[name]}}]}


def main(version, versions, time):
    with open(versions, encoding="ascii") as f:
        rows = [line.split() for line in f]
    dygraphs = subprocess.run(["dpkg-query", "-W", "-f=${Version}", "libjs-dygraphs"], stdout=subprocess.PIPE, text=True).stdout
    parts = [component(*row) for row in rows + ([["dygraphs", dygraphs]] if dygraphs else [])]
    json.dump({"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
               "metadata": {"timestamp": time,
                            "component": {"type": "application", "name": "xsched", "version": version,
                                          "licenses": [{"license": {"id": "Apache-2.0"}}]}},
               "components": parts}, sys.stdout, indent=2)
    print()


main(*sys.argv[1:])
