#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The status page in a real browser, where one is installed."""
import json
import re
import time
import unittest

import browser
from stage import Stage, until
from test_page import GPU, MAX_WATCHERS, NAME, events


class PageInBrowser(unittest.TestCase):
    def setUp(self):
        self.stage = Stage()
        self.addCleanup(self.stage.close)
        self.batch = self.stage.actor(NAME)
        self.batch.tell(f"queue 0 {GPU} 7")

    def browser(self):
        if not browser.path():
            print("no chromium is installed: the page is not tested in a browser")
            self.skipTest("no chromium is installed: the page was read by a plain HTTP client only")
        b = browser.Browser(f"http://127.0.0.1:{self.stage.port}/")
        self.addCleanup(b.close)
        return b

    def cell(self, b, label, row=0):
        return b.value(f"document.querySelectorAll('#programs tr')[{row}].querySelector('td[data-label=\"{label}\"]').textContent")

    def urgent(self, b):
        """Another program, which takes the device from the first one; the page says so."""
        b.wait_for("document.querySelectorAll('#programs tr').length == 1")
        urgent = self.stage.actor("urgent")
        urgent.tell(f"queue 0 {GPU} 20")
        urgent.tell("work 0 100")
        b.wait_for("document.querySelectorAll('#programs tr').length == 2")
        b.wait_for(f"document.querySelector('#programs tr td[data-label=State]').textContent == "
                   f"'waitingPID {urgent.pid} is more urgent (priority 20)'")
        return urgent

    def test_in_a_browser(self):
        self.batch.tell("work 0 90")
        b = self.browser()
        b.wait_for("document.querySelectorAll('#programs tr').length == 1")
        b.wait_for("document.querySelector('#programs meter').value > .2")  # needs a second event
        self.assertEqual([self.cell(b, name) for name in ("PID", "State", "Priority", "Level", "Queues")][:4],
                         [str(self.batch.pid), "running", "7", "1"])
        self.assertIn(NAME, self.cell(b, "Program"))  # as text
        self.assertEqual(b.value("document.querySelectorAll('#programs b, .keys b').length"), 0)
        self.assertIn("HPF", b.value("document.getElementById('sums').textContent"))
        self.assertIn("GPU 0000:3b:00.0", b.value("document.getElementById('devices').textContent"))
        # the other one takes the device: why this one waits
        urgent = self.urgent(b)
        self.stage.xcli("suspend", str(self.batch.pid))
        b.wait_for("document.querySelector('#programs tr td[data-label=State]').textContent == 'suspendedsuspended by a user'")
        self.stage.xcli("resume", str(self.batch.pid))
        urgent.leave()
        latency = r"\nlatency +[1-9]\d* decisions, mean [\d.]+ us, P50 at most [\d.]+ us, P99 at most [\d.]+ us, max [\d.]+ us\n"
        for _ in range(5):                   # the first permit that somebody waits for brings the first latency
            try:
                until(lambda: re.search(latency, self.stage.xcli("status").stdout), "the latency of a decision", 5)
                break
            except AssertionError:           # on a busy machine nobody may have waited yet
                self.urgent(b).leave()
        self.assertRegex(self.stage.xcli("status").stdout, latency)
        self.assertIn("Mean decision", b.value("document.getElementById('sums').textContent"))
        # what others than operators get has no counters
        with self.stage.get("/events", {"Sec-Fetch-Site": "same-origin"}) as answer:
            event, = events(answer, 1)
        event["status"] = {k: event["status"][k] for k in ("version", "policy_name", "uptime_us")} | {"whole_server": False}
        shown = b.value(f"(events.onmessage({{data: {json.dumps(json.dumps(event))}}}), document.getElementById('sums').textContent + "
                        "document.getElementById('latencies-figure').hidden)")
        self.assertIn("HPF", shown)
        self.assertNotIn("ecision", shown)
        self.assertTrue(shown.endswith("true"), shown)
        self.batch.leave()
        b.wait_for("!document.getElementById('none').hidden")
        self.assertEqual(b.complaints, [])
        self.stage.server.terminate()
        b.wait_for("document.getElementById('state').className == 'gone'")

    def test_asks_again_after_an_error(self):
        """A browser ends a stream of events whose answer was an error."""
        watchers = [self.stage.get("/events") for _ in range(MAX_WATCHERS)]
        b = self.browser()
        b.wait_for("document.getElementById('state').className == 'gone' && events.readyState == EventSource.CLOSED")
        for w in watchers:
            w.close()
        b.wait_for("!!before")

    def test_charts(self):
        """They begin with what was before the page was opened, and a program keeps its colour."""
        urgent = self.stage.actor("urgent")
        urgent.tell(f"queue 0 {GPU} 20")
        urgent.tell("work 0 40")
        self.batch.tell("work 0 90")
        time.sleep(4)  # both compete: xserver is awake
        b = self.browser()
        b.wait_for("!!before")
        if not b.value("!!window.Dygraph"):
            self.skipTest("this build has no charts")
        self.assertGreaterEqual(b.value("shareHistory.length"), 3)
        own = b.value("Math.max(...shareHistory.map(p => p.of.get(before.programs.find(q => q.cmdline.startsWith('urgent')).session) || 0))")
        self.assertGreater(own, 0.2)
        self.assertLess(b.value("shareHistory[0].time - Date.now()"), -2000)
        uptime = b.value("before.status.uptime_us")
        b.wait_for(f"before.status.uptime_us > {uptime}")
        self.assertEqual(b.value("shareHistory.filter((p, i) => i && p.time < shareHistory[i - 1].time).length"), 0)
        # colours: by session, whatever the others do
        keys = "Object.fromEntries([...document.querySelectorAll('#shares-keys li')].map(e => [e.textContent.split(' ')[0], e.className]))"
        before = b.value(keys)
        self.assertEqual(len(before), 3)
        self.assertEqual(len(set(before.values())), 3)
        more = [self.stage.actor(f"program {i}") for i in range(6)]
        for i, a in enumerate(more):
            a.tell(f"queue 0 {GPU} {30 + i}")
        more[5].tell("work 0 95")
        b.wait_for("document.querySelectorAll('#programs tr').length == 8")
        b.wait_for(f"{keys}[{more[5].pid}]")
        now = b.value(keys)
        for pid in set(before) & set(now):
            self.assertEqual(before[pid], now[pid], pid)
        self.assertEqual(len(set(now.values())), len(now))
        for a in more:
            a.leave()
        b.wait_for("document.querySelectorAll('#programs tr').length == 2")
        b.wait_for(f"document.querySelectorAll('#shares-keys li').length == 3")
        self.assertEqual(b.value(keys), before)
        self.assertEqual(b.complaints, [])

    def test_late_decisions(self):
        """One among hundreds does not make the rest a flat line, and no number has an exponent."""
        self.batch.tell("work 0 90")
        b = self.browser()
        b.wait_for("!!before")
        if not b.value("!!window.Dygraph"):
            self.skipTest("this build has no charts")
        b.value("events.close(), latencyHistory.length = 0, 1")
        b.value("(() => { for (let i = 0; i < 200; i++) latencyHistory.push([new Date(Date.now() - 200000 + 1000 * i), 40, 131.072]);"
                " latencyHistory[99] = [latencyHistory[99][0], 9000, 16777.216]; showLatencies({count: 200}); })()")
        self.assertEqual(b.value("charts.latencies.yAxisRange().map(Math.round)"), [0, 413])
        self.assertEqual(b.value("document.getElementById('latencies-cut').textContent"),
                         "Cut off at the top: 2 values up to 16.8 ms.")
        self.assertFalse(b.value("document.getElementById('latencies-cut').hidden"))
        labels = b.value("[...document.querySelectorAll('.dygraph-axis-label-y')].map(e => e.textContent)")
        self.assertTrue(labels)
        for label in labels:
            self.assertRegex(label, r"^[\d.]+ (%|µs|ms|s)$")
        b.value("(() => { for (const p of latencyHistory) { p[1] *= 400; p[2] *= 400; } showLatencies({count: 200}); })()")
        for label in b.value("[...document.querySelectorAll('#latencies .dygraph-axis-label-y')].map(e => e.textContent)"):
            self.assertRegex(label, r"^[\d.]{1,4} (µs|ms|s)$")
        b.value("(() => { latencyHistory[99] = latencyHistory[98]; showLatencies({count: 200}); })()")
        self.assertTrue(b.value("document.getElementById('latencies-cut').hidden"))
        self.assertEqual(b.value("[0, 1e-9, 0.512, 40, 131.072, 999.9, 1000, 16777.216, 2500000, 1e11].map(duration)"),
                         ["0 µs", "0 µs", "0.512 µs", "40 µs", "131 µs", "1 ms", "1 ms", "16.8 ms", "2.5 s", "100000 s"])
        self.assertEqual(b.complaints, [])

    def test_widths(self):
        """Nothing scrolls sideways, all text can be read, all parts have names, the keyboard reaches the details."""
        self.batch.tell("work 0 90")
        other = self.stage.actor("x" * 200 + " " + "--option=value " * 40)
        for cell in range(3):
            other.tell(f"queue {cell} {GPU} -3")
        b = self.browser()
        b.wait_for("document.querySelectorAll('#programs tr').length == 2")
        b.wait_for("document.querySelector('#programs meter').value > .2")
        if b.value("!!window.Dygraph"):
            b.wait_for("document.querySelectorAll('#shares canvas').length > 0")
        else:
            self.assertFalse(b.value("document.getElementById('no-charts').hidden"))
        for width in (390, 800, 1280):
            for dark in (False, True):
                b.look(width, 900, dark)
                b.wait_for(f"innerWidth == {width}")
                self.assertLessEqual(b.value("document.documentElement.scrollWidth"), width)
                self.assertEqual(b.value(OUTSIDE % width), [], width)
                self.assertEqual(b.value(PALE), [], (width, dark))
        nodes = b.nodes()
        for role in ("button", "meter", "Meter", "table", "image", "img", "heading", "columnheader", "DisclosureTriangle"):
            self.assertEqual([n for n in nodes if n[0] == role and not n[1]], [], role)
        roles = {n[0] for n in nodes}
        self.assertLessEqual({"main", "table", "columnheader", "heading", "status"}, roles)
        b.value("document.activeElement.blur()")
        b.press("Tab")
        self.assertEqual(b.value("document.activeElement.className"), "skip")
        for _ in range(20):
            b.press("Tab")
            if b.value("document.activeElement.localName") == "summary":
                break
        self.assertEqual(b.value("document.activeElement.localName"), "summary")
        b.press("Enter")
        b.wait_for("document.querySelectorAll('#programs details[open] li').length > 0")
        uptime = b.value("before.status.uptime_us")
        b.wait_for(f"before.status.uptime_us > {uptime}")  # another event leaves it open
        self.assertEqual(b.value("document.querySelectorAll('#programs details[open]').length"), 1)
        self.assertEqual(b.complaints, [])

    def test_shares_are_of_the_time_that_passed(self):
        """Programs whose own figures come to more are scaled to it, and said to be estimates."""
        b = self.browser()
        b.wait_for("!!before")
        program = "({session: %d, shown_queues: [{handle: %d, device: 1, service_us: %d}], waiting_us: 0})"
        event = "({status: {uptime_us: %d}, programs: [" + program + ", " + program + "]})"
        found = b.value(f"(() => {{ before = {event % (0, 1, 1, 0, 2, 2, 0)}; const r = rates({event % (1000000, 1, 1, 900000, 2, 2, 600000)});"
                        " return [r.shares.get(1).share, r.shares.get(2).share, r.ofDevice.get(1), estimates]; })()")
        self.assertEqual([round(found[0], 6), round(found[1], 6), found[2], found[3]], [0.6, 0.4, 1, True])
        found = b.value(f"(() => {{ before = {event % (0, 1, 1, 0, 2, 2, 0)}; const r = rates({event % (1000000, 1, 1, 500000, 2, 2, 250000)});"
                        " return [r.shares.get(1).share, r.shares.get(2).share, r.ofDevice.get(1), estimates]; })()")
        self.assertEqual(found, [0.5, 0.25, 0.75, False])


# Elements that reach beyond the window.
OUTSIDE = """[...document.querySelectorAll('body *')].filter(e => !e.closest('.unseen, .skip, thead, svg') && e.offsetParent &&
    e.getBoundingClientRect().right > %d + 1).map(e => e.outerHTML.slice(0, 80))"""
# Text with less than 4.5 : 1 between it and what is behind it.
PALE = r"""(() => {
    const rgb = c => c.match(/[\d.]+/g).map(Number);
    const light = c => { const [r, g, b] = rgb(c).slice(0, 3).map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
        return .2126 * r + .7152 * g + .0722 * b; };
    const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if ((rgb(c)[3] ?? 1) > 0) return c; }
        return 'rgb(255, 255, 255)'; };
    return [...document.querySelectorAll('body *')].filter(e => e.offsetParent && !e.closest('.unseen, .skip') &&
        [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())).filter(e => {
            const a = light(getComputedStyle(e).color), b = light(behind(e));
            return (Math.max(a, b) + .05) / (Math.min(a, b) + .05) < 4.5;
        }).map(e => e.outerHTML.slice(0, 80));
})()"""


if __name__ == "__main__":
    unittest.main()
