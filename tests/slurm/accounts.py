# SPDX-License-Identifier: Apache-2.0
"""accounts.py CLIENTS...: the merged accounts of jobs (standard input) against what each node's server knows of their programs."""
import json
import re
import sys

WITHIN = 0.02
measured, hosts = {}, {}
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as f:
        answer = json.load(f)
    for program in answer["clients"] + answer["ended"]:
        job = re.fullmatch(r"slurm-(\d+)\..*", program["group"])
        if job:
            key = int(job.group(1))
            measured[key] = measured.get(key, 0) + program["service_us"]
            hosts.setdefault(key, set()).add(re.search(r"n\d", path.rpartition("/")[2]).group())
used = {row["job"]: row for row in map(json.loads, sys.stdin) if row["service_us"]}
assert set(used) == set(measured), (sorted(used), sorted(measured))
for job, row in used.items():
    assert row["hosts"] == sorted(hosts[job]), row
    assert row["programs"] == len(hosts[job]), row
    assert abs(row["service_us"] - measured[job]) <= WITHIN * measured[job], (row, measured[job])
low = [row for row in used.values() if row["priority"] == [-10]]
high = [row for row in used.values() if row["priority"] == [40]]
one_node = [row for row in used.values() if len(row["hosts"]) == 1]
assert low and len(high) == 1 + 3 * len(low), used
assert len(one_node) == 2 * len(low) and all(row in high for row in one_node), used     # the requests alone; all else ran on both
assert min(row["waiting_us"] for row in low) > max(row["waiting_us"] for row in high), used
print("job, device s of the accounts, of the servers:")
for job in sorted(used):
    print(job, used[job]["service_us"] / 1e6, measured[job] / 1e6)
