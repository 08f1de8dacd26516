# SPDX-License-Identifier: Apache-2.0
"""The systemd unit against the source: its limits cover the default quotas, and nothing in it makes it give up.

    check_unit.py SOURCE
"""
import re
import sys

source = sys.argv[1]


def read(path):
    with open(f"{source}/{path}", encoding="utf-8") as f:
        return f.read()


def number(path, pattern):
    return int(re.search(pattern, read(path)).group(1))


unit = {}
for line in read("integration/systemd/xserver.service").splitlines():
    name, equals, value = line.partition("=")
    if equals and not line.startswith("#"):
        unit.setdefault(name, []).append(value)

programs = number("src/xserver/options.def", r'max_clients, "max-clients", \(.*?\), "(\d+)"')
groups = number("src/xserver/level3/lv3_nvidia.h", r"#define XS_LV3_GROUPS +(\d+)u")
descriptors = programs * (3 + groups)   # connection, doorbell, pidfd; one for each channel group
descriptors += 2 * 256                  # connections of HTTP
descriptors += 1024                     # connections that have not joined, what is being closed, the server's own

wrong = []
if int(unit["LimitNOFILE"][0]) < descriptors:
    wrong.append(f"LimitNOFILE={unit['LimitNOFILE'][0]}, and the default quotas need {descriptors}")
for name, values in (("StartLimitIntervalSec", ["0"]), ("Restart", ["on-failure"]), ("WatchdogSec", ["10"])):
    if unit.get(name) != values:
        wrong.append(f"{name} is {unit.get(name)}, not {values}")
if not re.fullmatch(r"\d+[MG]", unit.get("MemoryMax", [""])[0]):
    wrong.append("there is no MemoryMax")
print("\n".join(wrong))
sys.exit(bool(wrong))
