# SPDX-License-Identifier: Apache-2.0
"""What a pod asks for, and what it gets: annotations, PriorityClass, and the table of namespaces. Pure functions.

A text that is wrong never stops a pod: the setting is left out, and a note says why."""
from __future__ import annotations

import configparser
import re
from typing import Dict, List, Mapping, NamedTuple, Optional, Tuple

PREFIX = "xsched.dev/"
PRIORITY_MIN, PRIORITY_MAX = -255, 255
NAMES = {"urgent": 100, "high": 10, "normal": 0, "low": -10, "background": -100}
EXEMPT = ("kube-system",)  # namespaces for which [namespace *] does not hold


class Namespace(NamedTuple):
    """A row of the table: the priority of pods that ask for none, and the limits of all."""

    priority: Optional[int] = None
    least: int = PRIORITY_MIN
    most: int = PRIORITY_MAX


class Table(NamedTuple):
    """The file of the agent's ConfigMap."""

    namespaces: Mapping[str, Namespace] = {}
    classes: Mapping[str, int] = {}  # PriorityClass -> priority

    def of(self, namespace: str) -> Namespace:
        """The row of a namespace, else that of *."""
        row = self.namespaces.get(namespace)
        if row is None and namespace not in EXEMPT:
            row = self.namespaces.get("*")
        return row or Namespace()


class Settings(NamedTuple):
    """What a container gets."""

    priority: Optional[int] = None
    utilization: Optional[int] = None
    memory: str = ""
    sharing: str = ""
    swap: str = ""

    def any(self) -> bool:
        """Whether it gets XSched at all."""
        return self != Settings()

    def environment(self) -> Dict[str, str]:
        """The variables of xsched-environment(7), but the priority."""
        all_of = {"XSCHED_AUTO_XQUEUE_UTILIZATION": "" if self.utilization is None else str(self.utilization),
                  "XSCHED_MEM_LIMIT": self.memory, "XSCHED_SHARE": self.sharing.upper(),
                  "XSCHED_SWAP": self.swap.upper()}
        return {name: value for name, value in all_of.items() if value}


class Note(NamedTuple):
    """Why a pod did not get what it asked for."""

    reason: str  # as the event's: one word
    text: str


def _priority(text: str) -> int:
    if text in NAMES:
        return NAMES[text]
    if not re.fullmatch(r"[+-]?[0-9]{1,3}", text) or not PRIORITY_MIN <= int(text) <= PRIORITY_MAX:
        raise ValueError(f"a priority is {PRIORITY_MIN}..{PRIORITY_MAX} or one of {', '.join(NAMES)}")
    return int(text)


def _percent(text: str) -> int:
    number = text[:-1] if text.endswith("%") else text
    if not re.fullmatch(r"[0-9]{1,3}", number) or not 1 <= int(number) <= 100:
        raise ValueError("a share is 1..100 percent of a device")
    return int(number)


def _memory(text: str) -> str:
    amount = re.fullmatch(r"([1-9][0-9]{0,15})(?:([KMGT])i?)?", text)
    percent = re.fullmatch(r"([0-9]{1,3})%", text)
    if percent and 1 <= int(percent[1]) <= 100:
        return text
    if not amount:
        raise ValueError("an amount of memory is a number with K, M, G or T behind it (1024, 1024^2, ...), or percent")
    return amount[1] + (amount[2] or "")


def _sharing(text: str) -> str:
    if text != "time":
        raise ValueError("the agent offers time alone; for space see docs/howto/kubernetes.md")
    return text


def _swap(text: str) -> str:
    if text not in ("on", "off"):
        raise ValueError("swap is on or off")
    return text


_ANNOTATIONS = {"priority": ("priority", _priority), "share": ("utilization", _percent), "memory": ("memory", _memory),
                "sharing": ("sharing", _sharing), "swap": ("swap", _swap)}


def read_table(text: str) -> Table:
    """@raise ValueError with the reason"""
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(text)
    except configparser.Error as e:
        raise ValueError(" ".join(str(e).split())) from None
    namespaces: Dict[str, Namespace] = {}
    classes: Dict[str, int] = {}
    for section in parser.sections():
        kind, _, name = section.partition(" ")
        known = {"namespace": ("priority", "least", "most"), "priority-class": ("priority",)}.get(kind)
        if known is None or not name:
            raise ValueError(f"[{section}] is neither [namespace NAME] nor [priority-class NAME]")
        values: Dict[str, int] = {}
        for key, value in parser.items(section):
            if key not in known:
                raise ValueError(f"[{section}] has no key {key}")
            try:
                values[key] = _priority(value)
            except ValueError as e:
                raise ValueError(f"[{section}] {key} = {value}: {e}") from None
        if kind == "priority-class":
            if "priority" not in values:
                raise ValueError(f"[{section}] needs a priority")
            classes[name] = values["priority"]
            continue
        row = Namespace(values.get("priority"), values.get("least", PRIORITY_MIN), values.get("most", PRIORITY_MAX))
        if row.least > row.most:
            raise ValueError(f"[{section}] least is above most")
        namespaces[name] = row
    return Table(namespaces, classes)


def _asked(annotations: Mapping[str, str], container: str) -> Tuple[Dict[str, object], List[Note]]:
    found: Dict[str, object] = {}
    notes: List[Note] = []
    for key in sorted(annotations):
        if not key.startswith(PREFIX):
            continue
        what, _, of = key[len(PREFIX):].partition(".")
        if what not in _ANNOTATIONS:
            notes.append(Note("UnknownAnnotation", f"{key}: there is no such annotation; there are "
                              + ", ".join(PREFIX + name for name in _ANNOTATIONS)))
            continue
        if of and of != container:
            continue
        field, parse = _ANNOTATIONS[what]
        text = annotations[key].strip()
        try:  # the container's own comes after the pod's
            found[field] = parse(text)
        except ValueError as e:
            found.pop(field, None)
            notes.append(Note("InvalidAnnotation", f"{key}: {text[:40]!r}: {e}; the pod runs without it"))
    return found, notes


def settings_of(namespace: str, annotations: Mapping[str, str], priority_class: str, table: Table,
                container: str = "") -> Tuple[Settings, List[Note]]:
    """What a container of the pod gets, and why it is less than the pod asks for."""
    found, notes = _asked(annotations, container)
    row = table.of(namespace)
    asked = found.get("priority")
    if asked is None:
        asked = table.classes.get(priority_class, row.priority)
    elif priority_class in table.classes and table.classes[priority_class] != asked:
        notes.append(Note("TwoPriorities", f"the annotation asks for priority {asked}, the PriorityClass {priority_class} "
                          f"for {table.classes[priority_class]}: the annotation counts"))
    priority = None
    if isinstance(asked, int):
        priority = max(row.least, min(row.most, asked))
        if priority != asked:
            notes.append(Note("PriorityLimited", f"the pod asks for priority {asked}; the namespace {namespace} may have "
                              f"{row.least}..{row.most}: {priority} is in force"))
    utilization = found.get("utilization")
    texts = (str(found.get(name) or "") for name in ("memory", "sharing", "swap"))
    got = Settings(priority, utilization if isinstance(utilization, int) else None, *texts)
    if got.any() and got.priority is None:  # a program has some priority: the usual one
        got = got._replace(priority=max(row.least, min(row.most, 0)))
    return got, notes
