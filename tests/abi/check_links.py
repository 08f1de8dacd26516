#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every relative link in the tree's documents leads to a file, and to a heading of it where it names one: check_links.py ROOT"""
import os
import re
import sys
import tempfile


def anchors(text):
    """The names of a document's headings, as GitHub makes them."""
    seen = {}
    for heading in re.findall(r"^#+ +(.*?)\s*$", re.sub(r"```.*?```", "", text, flags=re.S), re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w -]", "", plain.lower()).replace(" ", "-")
        seen[name] = seen.get(name, -1) + 1
        yield name + (f"-{seen[name]}" if seen[name] else "")


def documents(root):
    for folder, names, files in os.walk(root):
        names[:] = [n for n in names if n not in (".git", "build", "out") and not n.startswith("build-")]
        for name in files:
            if name.endswith(".md"):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as f:
                    yield os.path.normpath(path), f.read()


def check(root):
    """[what is wrong], and how many links there are"""
    texts = dict(documents(root))
    bad, seen = [], 0
    for path, text in sorted(texts.items()):
        for link, anchor in re.findall(r"\]\(([^)\s#]*)(?:#([^)\s]*))?\)", re.sub(r"```.*?```", "", text, flags=re.S)):
            if "://" in link or link.startswith("mailto:"):
                continue
            seen += 1
            target = os.path.normpath(os.path.join(os.path.dirname(path), link)) if link else path
            what = link + ("#" + anchor if anchor else "")
            if not os.path.exists(target):
                bad.append(f"{os.path.relpath(path, root)}: {what} leads nowhere")
            elif anchor and anchor not in anchors(texts.get(target, "")):
                bad.append(f"{os.path.relpath(path, root)}: {what} leads to no heading")
    return bad, seen


def self_test():
    tree = {"a.md": "# One, two\n[b](b.md#x-y) [here](#one-two) [no](gone.md) [no](b.md#z) [no](#three) [twice](b.md#x-y-1)\n"
                    "```\n[code](gone.md)\n```\n[far](https://example.org/x#y)", "b.md": "## X `y`\n\n## X `y`\n"}
    wanted = {"a.md: gone.md leads nowhere", "a.md: b.md#z leads to no heading", "a.md: #three leads to no heading"}
    with tempfile.TemporaryDirectory() as root:
        for name, text in tree.items():
            with open(os.path.join(root, name), "w", encoding="utf-8") as f:
                f.write(text)
        found = set(check(root)[0])
    return [f"self-test: {x}" for x in found ^ wanted]


def main(root):
    bad, seen = check(root)
    bad += self_test()
    print("\n".join(bad + [f"{seen} links, {len(bad)} lead nowhere"]))
    return 1 if bad or not seen else 0


sys.exit(main(sys.argv[1]))
