#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What /metrics answered, judged by others: promtool where it is installed, the parser of Prometheus' own Python
client, and rules that neither knows. Then the dashboards: their queries name only metrics that are shown, with labels that these have.
xsched-hosts.json and xsched-pods.json add up hosts; nothing else may. The latter shows what the agent of a Kubernetes node makes of
the labels.

check_metrics.py SCRAPE METRICS.DEF FOLDER_OF_DASHBOARDS MAN_PAGE RULES.YAML"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys

SUFFIXES = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count"), "gauge": ("",)}
FUNCTIONS = {"sum", "rate", "irate", "increase", "by", "without", "histogram_quantile", "max", "min", "avg", "on",
             "group_left", "topk", "count", "le", "absent", "label_replace", "label_values", "ignoring", "clamp_max"}


def rows(text):
    """name -> type, from metrics.def"""
    found = re.findall(r"^M_[A-Z_]+\((\w+), (counter|gauge|histogram),", text, re.M)
    return {"xsched_" + name: kind for name, kind in found}


def samples_of(name, kind):
    return {name + s for s in SUFFIXES["histogram"]} if kind == "histogram" else {name}


def judge_text(text, known):
    """@return what is wrong"""
    wrong, seen, order, types = [], set(), [], {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ", 3)
            types[name] = kind
            order.append(name)
            continue
        if line.startswith("#"):
            continue
        m = re.fullmatch(r'([a-z0-9_A-Z]+)(?:\{((?:[a-zA-Z_]+="(?:[^"\\\n]|\\.)*",?)*)\})? (-?[0-9.]+)', line)
        if not m:
            wrong.append(f"line {number}: {line!r} is no sample")
            continue
        key = (m[1], tuple(sorted(re.findall(r'([a-zA-Z_]+)="((?:[^"\\]|\\.)*)"', m[2] or ""))))
        if key in seen:
            wrong.append(f"line {number}: {m[1]} twice with the same labels")
        seen.add(key)
        if not order or m[1] not in samples_of(order[-1], types[order[-1]]):
            wrong.append(f"line {number}: {m[1]} stands apart from its type")
    for name, kind in known.items():
        if types.get(name) != kind:
            wrong.append(f"{name} is {types.get(name)}, not {kind}")
    for name in types.keys() - known.keys():
        wrong.append(f"{name} has no row")
    for name, kind in types.items():
        if (kind == "counter") != name.endswith("_total"):
            wrong.append(f"{name}: a counter, and nothing else, ends in _total")
    return wrong


def judge_by_client(text):
    try:
        from prometheus_client.parser import text_string_to_metric_families
    except ImportError:
        print("python3-prometheus-client is not installed: not judged by its parser")
        return []
    wrong = []
    for family in text_string_to_metric_families(text):
        if family.type == "histogram":
            buckets = [s for s in family.samples if s.name.endswith("_bucket")]
            counts = [s.value for s in buckets]
            total = [s.value for s in family.samples if s.name.endswith("_count")]
            if counts != sorted(counts) or buckets[-1].labels["le"] != "+Inf" or total != counts[-1:]:
                wrong.append(f"{family.name}: its buckets do not add up")
    return wrong


def judge_by_promtool(text):
    tool = shutil.which("promtool")
    if not tool:
        print("promtool is not installed: not judged by it")
        return []
    done = subprocess.run([tool, "check", "metrics"], input=text, text=True, capture_output=True)
    return [] if done.returncode == 0 else ["promtool: " + (done.stdout + done.stderr).strip()]


def expressions(node):
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "expr" or key == "definition":
                yield value
            else:
                yield from expressions(value)
    elif isinstance(node, list):
        for value in node:
            yield from expressions(value)


def labels_of(text):
    """name of a sample -> the labels that some line of it has; and those that depend on the machine"""
    found = {}
    for name, labels in re.findall(r"^(xsched_\w+)(?:\{(.*)\})? [-0-9.]+$", text, re.M):
        found.setdefault(name, {"instance", "UUID", "container", "pod"}).update(re.findall(r'(\w+)="', labels))
    return found


def by_agent(labels):
    """The labels after integration/kubernetes/xsched_kube/metrics.py: a program's pod has a namespace, UUID another name."""
    return {name: (of - {"UUID"}) | ({"namespace", "pod_uuid", "gpu_uuid"} if "pid" in of else set()) for name, of in labels.items()}


def judge_labels(expr, labels):
    """Selectors name labels of their metric, and sums over one metric those of that one."""
    wrong = []
    for name, matchers in re.findall(r"\b(xsched_\w+)\{([^}]*)\}", expr):
        for label in re.findall(r"(\w+) *(?:=~|!~|!=|=)", matchers):
            if name in labels and label not in labels[name]:
                wrong.append(f"{name} has no label {label}: {expr}")
    names = [n for n in re.findall(r"\bxsched_\w+", expr) if n in labels]
    here = set().union(*(labels[n] for n in names)) if names else set()
    for listed in re.findall(r"\b(?:by|on|group_left) \(([^)]*)\)", expr):
        for label in re.findall(r"\w+", listed):
            if names and "kube_pod_info" not in expr and label not in here:
                wrong.append(f"no metric of it has a label {label}: {expr}")
    return wrong


def judge_dashboard(dashboard, known, labels, hosts=False):
    names = {s for name, kind in known.items() for s in samples_of(name, kind)}
    wrong, used = [], 0
    for expr in expressions(dashboard):
        for name in re.findall(r"\bxsched_\w+", expr):
            used += 1
            if name not in names:
                wrong.append(f"the dashboard asks for {name}: {expr}")
        bare = re.sub(r'\{[^}]*\}|"[^"]*"|\[[^]]*\]|\([\w, ]*\)(?= *\()', " ", expr)
        for word in re.findall(r"\b[a-zA-Z_]\w*\b", bare):
            if not word.startswith(("xsched_", "__")) and word not in FUNCTIONS and word not in (
                    "pid", "gpu", "container", "queue", "command", "user", "pod", "kind", "state", "session", "instance",
                    "namespace", "pod_name", "uid", "kube_pod_info", "group", "policy", "reason", "gpu_uuid"):
                wrong.append(f"the dashboard uses {word}: {expr}")
        wrong += judge_labels(expr, labels)
        if not hosts and re.search(r"\b(sum|max|min|avg|count)\b(?! by \([^)]*(instance|uid))", expr):
            wrong.append(f"a sum without instance adds up hosts: {expr}")
    if not used:
        wrong.append("the dashboard asks for nothing")
    return wrong


def judge_rules(text, known, labels):
    """The file of alerts; promtool knows more than this, where it is installed."""
    import yaml

    wrong = judge_dashboard(yaml.safe_load(text), known, labels)
    for group in yaml.safe_load(text)["groups"]:
        for rule in group["rules"]:
            if ("alert" in rule) == ("record" in rule) or "alert" in rule and not {"summary", "description"} <= rule["annotations"].keys():
                wrong.append(f"a rule alerts, with summary and description, or records: {rule}")
    if shutil.which("promtool"):
        done = subprocess.run(["promtool", "check", "rules", "/dev/stdin"], input=text, text=True, capture_output=True)
        wrong += [] if done.returncode == 0 else ["promtool: " + (done.stdout + done.stderr).strip()]
    return wrong


def judge_page(page, known):
    """The man page names only what exists."""
    page = page.replace("\\-", "-").replace("\\_", "_")
    names = known.keys() | {s for name, kind in known.items() for s in samples_of(name, kind)}
    return [f"xserver(8) names {n}" for n in sorted(set(re.findall(r"\bxsched_\w+", page)))
            if n not in names and not n.endswith("_")]


def self_test():
    known = {"xsched_a_total": "counter", "xsched_b": "gauge"}
    good = ('# TYPE xsched_a_total counter\nxsched_a_total{x="1"} 1\nxsched_a_total{x="2"} 1\n'
            '# TYPE xsched_b gauge\nxsched_b -2\n')
    assert judge_text(good, known) == []
    for bad in (good.replace('x="2"', 'x="1"'), good + 'xsched_a_total{x="3"} 1\n', good.replace("gauge", "counter"),
                good.replace(" -2", " two"), good.replace("xsched_b", "xsched_c"), good.replace('="1"', '="1')):
        assert judge_text(bad, known), bad
    labels = labels_of('xsched_a_total{pid="1",session="2"} 1\nxsched_b -2\n')
    assert labels["xsched_a_total"] >= {"pid", "session"} and "pid" not in labels["xsched_b"]
    assert not judge_dashboard({"panels": [{"expr": "sum by (instance, pid) (rate(xsched_a_total[1m]))"}]}, known, labels)
    assert not judge_dashboard({"panels": [{"expr": "sum by (pid) (rate(xsched_a_total[1m]))"}]}, known, labels, hosts=True)
    for bad in ("xsched_a", "rate(node_cpu[1m])", "up", "sum by (pid) (rate(xsched_a_total[1m]))", "sum(xsched_b)", "count(xsched_b)",
                'xsched_b{pid="1"}', 'xsched_a_total{instance=~"x",user="me"}', "sum by (instance, pid) (xsched_b)",
                "xsched_b * on (instance, pod) group_left (session) xsched_b"):
        assert judge_dashboard({"panels": [{"expr": bad}]}, known, labels), bad
    board = {"panels": [{"expr": 'sum by (namespace) (rate(xsched_a_total{pod="p"}[1m]))'}]}
    assert judge_dashboard(board, known, labels, hosts=True) and not judge_dashboard(board, known, by_agent(labels), hosts=True)
    assert judge_dashboard({"panels": [{"expr": 'xsched_b{namespace="x"}'}]}, known, by_agent(labels), hosts=True)
    assert judge_page("xsched_b and xsched\\_nothing", known) and not judge_page("xsched_b", known)


def main():
    self_test()
    scrape, table, page, rules = (open(sys.argv[i], encoding="utf-8").read() for i in (1, 2, 4, 5))
    known, labels = rows(table), labels_of(scrape)
    boards = {os.path.basename(p): json.load(open(p, encoding="utf-8")) for p in sorted(glob.glob(os.path.join(sys.argv[3], "*.json")))}
    wrong = [] if {"xsched.json", "xsched-hosts.json", "xsched-pods.json"} <= boards.keys() else [f"there are only the dashboards {sorted(boards)}"]
    for name, board in boards.items():
        pods = name == "xsched-pods.json"
        wrong += judge_dashboard(board, known, by_agent(labels) if pods else labels, pods or name == "xsched-hosts.json")
    ids = [b["uid"] for b in boards.values()] + [f"{b['uid']} {p['id']}" for b in boards.values() for p in b["panels"]]
    wrong += [f"{i} is there twice" for i in sorted({i for i in ids if ids.count(i) > 1})]
    wrong += (judge_text(scrape, known) + judge_by_client(scrape) + judge_by_promtool(scrape) +
              judge_rules(rules, known, labels) + judge_page(page, known))
    print("\n".join(wrong) if wrong else f"{len(known)} metrics, {len(scrape.splitlines())} lines")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
