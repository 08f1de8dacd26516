#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pictures of xsched record: who ran when is where it belongs, the file is XML whatever the names, and bounded."""
import html.parser
import os
import re
import subprocess
import unittest
import xml.etree.ElementTree

SCENES = os.path.join(os.environ["XSCHED_BUILD_DIR"], "tests", "launcher", "picture_scenes")
SVG = "{http://www.w3.org/2000/svg}"


def picture(scene, form="svg"):
    return subprocess.run([SCENES, form, scene], stdout=subprocess.PIPE, check=True).stdout


def tree(scene):
    return xml.etree.ElementTree.fromstring(picture(scene))


def texts(root):
    return ["".join(t.itertext()) for t in root.iter(SVG + "text")]


def bars(group):
    """{(fill, opacity): [(from, to, lowest, highest), ...]} in the unit of the picture."""
    found = {}
    for g in group.iter(SVG + "g"):
        scale = re.search(r"translate\((\d+) \d+\) scale\(([\d.]+) ([\d.]+)\)", g.get("transform", ""))
        for path in g.findall(SVG + "path") if scale else ():
            for x, y, w, h in re.findall(r"M(\d+) (\d+)h(\d+)v(\d+)h-\d+z", path.get("d")):
                x, y, w, h = int(x), int(y), int(w), int(h)
                found.setdefault((path.get("fill"), path.get("fill-opacity")), []).append(
                    (int(scale[1]) + x * float(scale[2]), int(scale[1]) + (x + w) * float(scale[2]), 24 - y - h, 24 - y))
    return found


def rows(root):
    """{title: group} of queues."""
    return {g.find(SVG + "title").text: g for g in root.iter(SVG + "g")
            if g.find(SVG + "title") is not None and g.find(SVG + "title").text.startswith("queue")}


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text = set(), set(), []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data):
        self.text.append(data)


class Picture(unittest.TestCase):
    def at(self, spans, *expected):
        """In ms of a second, whole bars: the bins at the ends are in two states."""
        got = [(a, b) for a, b, low, high in spans if high - low == 24]
        self.assertEqual(len(got), len(expected), spans)
        for (a, b), (begin, end) in zip(got, expected):
            self.assertAlmostEqual((a - 200) / 0.98, begin, delta=2)
            self.assertAlmostEqual((b - 200) / 0.98, end, delta=2)

    def test_who_ran_when(self):
        root = tree("two")
        urgent, batch, other = rows(root).items()  # the most urgent first
        self.assertIn("ran 200 ms, preempted 0 times", urgent[0])
        self.assertIn("ran 500 ms, preempted 200 ms, suspended 300 ms, preempted 1 time", batch[0])
        (_, spans), = bars(urgent[1]).items()
        self.at(spans, (400, 600))
        found = bars(batch[1])
        fill, = [f for f, o in found if f not in ("#8b929c", "url(#suspended)")]
        self.at(found[(fill, None)], (0, 400), (600, 700))
        self.at(found[("#8b929c", None)], (400, 600))
        self.at(found[("url(#suspended)", None)], (700, 1000))
        found = bars(other[1])
        self.at(found[("#d3d8df", None)], (500, 600))
        self.at(found[(fill, "0.5")], (600, 700))
        all_ = texts(root)
        self.assertIn("PID 100, priority 10", all_)
        self.assertIn("PID 200, priority 1, later 3, device time 500 ms (50 %), preempted 1 time", all_)
        for text in ("serve --port 1", "train", "CFS", "400 ms", "queue 2"):
            self.assertIn(text, all_)
        self.assertTrue([t for t in all_ if ", policy HPF, xsched record " in t])
        device = bars(root)  # its row has both programs
        self.assertGreaterEqual(len(device[(fill, None)]), 4)

    def test_nothing_to_show(self):
        for scene in ("empty", "nothing"):
            self.assertIn("No program had work for a device in this time.", texts(tree(scene)), scene)
            self.assertNotIn("table", Page(picture(scene, "html").decode()).tags)

    def test_names_that_are_no_text(self):
        root = tree("hostile")
        for e in root.iter():
            self.assertTrue(e.tag.startswith(SVG), e.tag)
            self.assertFalse([a for a in e.keys() if a.startswith("on")], e.attrib)
        self.assertFalse(list(root.iter(SVG + "script")))
        all_ = texts(root)
        self.assertIn("</text><script>alert(1)</script>", all_)
        self.assertIn("\" onload=\"alert(1)\" x='&amp;&#0;]]><!--", all_)
        self.assertIn("\u6f22\u5b57 \U0001f680 \xe9", all_)
        self.assertIn("\ufffd[31mred \ufffd \ufffd \ufffd", all_)
        self.assertIn("turned \ufffd around \ufffd \ufffd", all_)
        self.assertTrue([t for t in all_ if t.startswith("no UTF-8: \ufffd\ufffd \ufffd\ufffd \ufffd") and t.endswith("\ufffd")])
        self.assertTrue([t for t in all_ if t == "\u6f22" * 43 + "..."])
        page = picture("hostile", "html").decode()
        parsed = Page(page)
        self.assertFalse(parsed.tags & {"script", "img", "iframe", "link", "object"}, parsed.tags)
        self.assertFalse([a for a in parsed.attributes if a.startswith("on") or a in ("src", "href")])
        self.assertFalse(re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]", page))
        self.assertIn("</text><script>alert(1)</script>", "".join(parsed.text))

    def test_more_than_it_draws(self):
        text = picture("many")
        self.assertLess(len(text), 8 << 20)
        root = xml.etree.ElementTree.fromstring(text)
        self.assertEqual(len(rows(root)), 60)
        all_ = texts(root)
        for says in (r"12345 events are missing", r"Left out: 964 queues with less work \(it draws 60, and 8 of one program\)\.",
                     r"Left out: 4976 queues made after the first 1024\.", r"Left out: 988 later changes"):
            self.assertTrue([t for t in all_ if re.match(says, t)], (says, all_[-8:]))
        self.assertLess(float(root.get("height")), 4000)
        for spans in bars(root).values():
            for begin, end, low, high in spans:
                self.assertTrue(200 <= begin < end <= 1181 and 0 <= low < high <= 24, (begin, end, low, high))

    def test_a_long_one(self):
        text = picture("day")
        self.assertLess(len(text), 20000)
        row, = rows(xml.etree.ElementTree.fromstring(text)).values()
        found = bars(row)
        (begin, end), = [(a, b) for a, b, low, high in found[("#2f5d9b", None)] if high - low == 24]
        self.assertAlmostEqual((begin - 200) / 980, 0.25, delta=0.002)
        self.assertAlmostEqual((end - 200) / 980, 0.5, delta=0.002)
        (begin, _, _, high), = found[("#d3d8df", None)]  # a microsecond shows
        self.assertAlmostEqual((begin - 200) / 980, 0.75, delta=0.002)
        self.assertGreater(high, 2)


if __name__ == "__main__":
    unittest.main()
