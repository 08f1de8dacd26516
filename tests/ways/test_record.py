#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""record.py itself: it sees how a program comes to the driver, and it names a way past the shim: test_record.py BUILD"""
import os
import sys
import unittest

import record

BUILD = os.path.abspath(sys.argv.pop(1))
PROGRAMS = os.path.join(BUILD, "tests", "cuda", "ways")
DRIVER = os.path.join(BUILD, "tests", "fakes", "cuda", "driver", "libcuda.so.1")
AUDIT = os.path.join(BUILD, "tests", "ways", "libways_audit.so")


def run(words, under_us):
    return record.Records(BUILD, AUDIT, PROGRAMS, f"$ {PROGRAMS}/ways_program {words}", under_us)


class Record(unittest.TestCase):
    def test_sees_who_opens_what_and_how(self):
        alone = run("open libcuda.so.1", False)
        self.assertEqual(alone.opens(), "libcuda.so.1 (NOW) by ways_program")
        self.assertRegex(alone.functions(), r"^dlsym: \d+ names$")
        self.assertEqual((alone.asks(), alone.processes()), ("launches", 1))

    def test_sees_an_object_that_binds_deeply(self):
        """No preloaded dlopen sees its call."""
        plugin = os.path.join(PROGRAMS, "libways_opener.so")
        self.assertEqual(run(f"opens_deep {plugin} libcuda.so.1", False).opens(), "libcuda.so.1 (NOW) by libways_opener.so")

    def test_all_ways_through_the_shim(self):
        plugin = os.path.join(PROGRAMS, "libways_opener.so")
        for words in ("open libcuda.so.1", f"open {DRIVER}", f"opens_deep {plugin} libcuda.so.1"):
            with_us = run(words, True)
            self.assertEqual((with_us.past(), with_us.processes()), (set(), 1), words)

    def test_sees_what_is_linked(self):
        alone = record.Records(BUILD, AUDIT, PROGRAMS, f"$ {PROGRAMS}/ways_linked", False)
        self.assertRegex(alone.functions(), r"^linked: \d+ names$")
        self.assertEqual(alone.opens(), "libcuda.so.1 (linked) by ways_linked")
        self.assertEqual(record.Records(BUILD, AUDIT, PROGRAMS, f"$ {PROGRAMS}/ways_linked", True).past(), set())

    def test_names_a_way_past_the_shim(self):
        self.assertEqual(run(f"namespace {DRIVER}", True).past(), {"ways_program"})

    def test_page_has_the_recorded_rows(self):
        table, page = record.TABLE, record.PAGE
        with open(page, encoding="utf-8") as f:
            text = f.read()
        self.assertEqual(record.with_table(text, record.read_table(table)), text, "record.py --page writes it anew")

    def test_every_package_has_a_row(self):
        listed = {name for name, *_ in record.packages(os.path.join(record.HERE, "packages.txt"))}
        self.assertEqual(listed, set(record.read_table(record.TABLE)))


if __name__ == "__main__":
    unittest.main()
