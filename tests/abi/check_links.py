#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every relative link in the tree's documents leads to a file: check_links.py ROOT"""
import os
import re
import sys


def main(root):
    bad, seen = [], 0
    for folder, names, files in os.walk(root):
        names[:] = [n for n in names if n not in (".git", "build", "out") and not n.startswith("build-")]
        for name in files:
            if not name.endswith(".md"):
                continue
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as f:
                text = re.sub(r"```.*?```", "", f.read(), flags=re.S)
            for link in re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", text):
                if "://" in link or link.startswith("mailto:"):
                    continue
                seen += 1
                if not os.path.exists(os.path.join(folder, link)):
                    bad.append(f"{os.path.relpath(path, root)}: {link} leads nowhere")
    print("\n".join(bad + [f"{seen} links, {len(bad)} lead nowhere"]))
    return 1 if bad or not seen else 0


sys.exit(main(sys.argv[1]))
