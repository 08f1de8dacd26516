#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`xsched run` schedules a Vulkan program whose user says where layers lie: layer_paths.py SUITE XSCHED

By VK_LAYER_PATH, also set to nothing, by an override layer with override_paths (both make the loader deaf to VK_ADD_LAYER_PATH),
and with filters of layers. A file of settings that lists the layers gets a line."""
import json
import os
import subprocess
import sys
import tempfile

import lib

OVERRIDE = {"file_format_version": "1.1.2", "layer": {
    "name": "VK_LAYER_LUNARG_override", "type": "GLOBAL", "api_version": "1.3.0", "implementation_version": "1",
    "description": "as vkconfig writes it", "component_layers": [], "blacklisted_layers": [],
    "disable_environment": {"DISABLE_VK_LAYER_LUNARG_override": "1"}}}
SETTINGS = {"file_format_version": "1.0.0", "settings": {"layers": [{"name": "VK_LAYER_KHRONOS_validation", "control": "on"}]}}


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as f:
        json.dump(content, f)


def home(top, name, override_paths=None, settings=None):
    """A home folder with such files."""
    folder = os.path.join(top, name)
    data = os.path.join(folder, ".local", "share", "vulkan")
    os.makedirs(data)
    if override_paths is not None:
        write(os.path.join(data, "implicit_layer.d", "VkLayer_override.json"),
              {**OVERRIDE, "layer": {**OVERRIDE["layer"], "override_paths": override_paths}})
    if settings is not None:
        write(os.path.join(data, "loader_settings.d", "vk_loader_settings.json"), settings)
    return folder


def submits(command, env, top):
    """@return status, scheduled submissions, what xsched says"""
    trace = os.path.join(top, "trace")
    r = subprocess.run(command, env={**env, "XSCHED_TRACE": trace}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                       timeout=100, check=False)
    count = 0
    if os.path.exists(trace):
        with open(trace, encoding="ascii") as f:
            count = sum(" submit " in line for line in f)
        os.remove(trace)
    return r.returncode, count, [line for line in r.stderr.splitlines() if line.startswith("xsched: ")]


def main(suite, xsched):
    if not lib.lavapipe():
        print("skipped: no lavapipe (mesa-vulkan-drivers)")
        return 77
    bad = []
    with tempfile.TemporaryDirectory() as top:
        empty = os.path.join(top, "empty")
        os.mkdir(empty)
        plain = home(top, "plain")
        override = home(top, "override", [empty])
        open_list = {**SETTINGS, "settings": {"layers": [{"name": "unordered_layer_location",
                                                          "control": "unordered_layer_location"}]}}
        cases = {
            "nothing set": {},
            "VK_LAYER_PATH": {"VK_LAYER_PATH": empty},
            "VK_LAYER_PATH of nothing": {"VK_LAYER_PATH": ""},
            "VK_LAYER_PATH has ours": {"VK_LAYER_PATH": os.path.join(os.path.dirname(os.path.dirname(xsched)), "lib", "xsched")},
            "VK_ADD_LAYER_PATH": {"VK_ADD_LAYER_PATH": empty},
            "override": {"HOME": override},
            "override and VK_LAYER_PATH": {"HOME": override, "VK_LAYER_PATH": empty},
            "override without paths": {"HOME": home(top, "pathless", [])},
            "override in XDG_DATA_HOME": {"XDG_DATA_HOME": os.path.join(override, ".local/share")},
            "override in XDG_CONFIG_HOME": {"XDG_CONFIG_HOME": os.path.join(override, ".local/share")},
            "override in XDG_DATA_DIRS": {"XDG_DATA_DIRS": f"{plain}:{override}/.local/share"},
            "override in XDG_CONFIG_DIRS": {"XDG_CONFIG_DIRS": f"{override}/.local/share"},
            "override, two runs": {"HOME": override},
            "all layers off": {"VK_LOADER_LAYERS_DISABLE": "~all~"},
            "all layers off, override": {"VK_LOADER_LAYERS_DISABLE": "~explicit~", "HOME": override},
            "another layer on": {"VK_LOADER_LAYERS_ENABLE": "*nothing*"},
            "settings with a place for others": {"HOME": home(top, "open", settings=open_list)},
        }
        for name, env in cases.items():
            env = {**lib.plain(), "HOME": plain, **env}
            command = [xsched, "run", "--local-policy", "HPF", "--"]
            status, count, said = submits([*command, *(command if "two" in name else []), suite], env, top)
            if status or count == 0 or said:
                bad.append(f"{name}: status {status}, {count} submissions, {said}")
        closed = home(top, "closed", settings=SETTINGS)
        _, _, said = submits([xsched, "run", "--local-policy", "HPF", "--", "true"], {**lib.plain(), "HOME": closed}, top)
        if len(said) != 1 or "lists the layers" not in said[0]:
            bad.append(f"settings: {said}")
        # the program's own folders stay as they are where no override layer asks for more
        shown = subprocess.run([xsched, "run", "--local-policy", "HPF", "--", "env"], env={**lib.plain(), "HOME": plain},
                               stdout=subprocess.PIPE, text=True, check=True).stdout
        if "XDG_DATA_DIRS=" in shown and "XDG_DATA_DIRS" not in os.environ or "\nVK_LAYER_PATH=" in shown:
            bad.append("variables that nobody needs")
    print("\n".join(bad))
    print(f"{len(cases)} cases")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
