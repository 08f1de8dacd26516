# SPDX-License-Identifier: Apache-2.0
"""The systemd units against the source: their limits cover the default quotas, nothing in them makes them give up, xserver has no
network, and xsched-http no more than it needs.

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


def settings(path):
    found = {}
    for line in read(path).splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(name, []).append(value)
    return found


unit = settings("integration/systemd/xserver.service")
http = settings("integration/systemd/xsched-http.service")
http_socket = settings("integration/systemd/xsched-http.socket")

programs = number("src/config/options.def", r'max_clients, "max-clients", \(.*?\), "(\d+)"')
groups = number("src/xserver/level3/lv3_nvidia.h", r"#define XS_LV3_GROUPS +(\d+)u")
descriptors = programs * (3 + groups)   # connection, doorbell, pidfd; one for each channel group
descriptors += number("src/xserver/asks.h", r"#define XS_ASKERS +(\d+)u")
descriptors += 1024                     # connections that have not joined, what is being closed, the server's own

wrong = []
if int(unit["LimitNOFILE"][0]) < descriptors:
    wrong.append(f"LimitNOFILE={unit['LimitNOFILE'][0]}, and the default quotas need {descriptors}")
for name, values in (("StartLimitIntervalSec", ["0"]), ("Restart", ["on-failure"]), ("WatchdogSec", ["10"])):
    if unit.get(name) != values:
        wrong.append(f"{name} is {unit.get(name)}, not {values}")
if not re.fullmatch(r"\d+[MG]", unit.get("MemoryMax", [""])[0]):
    wrong.append("there is no MemoryMax")
for name, values in (("RestrictAddressFamilies", ["AF_UNIX"]), ("IPAddressDeny", ["any"]), ("IPAddressAllow", None)):
    if unit.get(name) != values:
        wrong.append(f"{name} of xserver is {unit.get(name)}, not {values}: it needs no network")
if "--http-unit=ON" not in unit["ExecStart"][0].split():
    wrong.append("xserver would start an xsched-http beside that of the unit")
connections = number("src/http/connections.h", r"#define XS_HTTP_CONNECTIONS (\d+)u")
if int(http["LimitNOFILE"][0]) < 2 * 2 * connections + 64:  # two listeners, each with twice the share, to refuse the others
    wrong.append(f"LimitNOFILE={http['LimitNOFILE'][0]} of xsched-http, which may have {4 * connections} connections")
for name, values in (("User", ["xsched"]), ("CapabilityBoundingSet", [""]), ("NoNewPrivileges", ["yes"]), ("DevicePolicy", ["closed"]),
                     ("RestrictAddressFamilies", ["AF_UNIX AF_INET AF_NETLINK"]), ("IPAddressDeny", ["any"]),
                     ("IPAddressAllow", ["localhost"]), ("RestrictRealtime", ["yes"]), ("CPUSchedulingPolicy", None),
                     ("StartLimitIntervalSec", ["0"]), ("Restart", ["on-failure"])):
    if http.get(name) != values:
        wrong.append(f"{name} of xsched-http is {http.get(name)}, not {values}")
port = number("src/config/options.def", r'port, "port", \(.*?\), "(\d+)"')
if http_socket["ListenStream"] != [f"127.0.0.1:{port}", "/run/xsched/http.sock"] or http_socket["SocketMode"] != ["0666"]:
    wrong.append(f"xsched-http.socket listens on {http_socket['ListenStream']}")
print("\n".join(wrong))
sys.exit(bool(wrong))
