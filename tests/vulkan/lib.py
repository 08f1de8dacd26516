# SPDX-License-Identifier: Apache-2.0
"""What the tests of Vulkan share: environments with the layer and without, and an xserver of their own."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import own_xserver  # noqa: E402

OURS = ("XSCHED_", "XLOG_", "VK_", "LD_PRELOAD")
ICDS = ("/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d")
NAME = "VK_LAYER_XSCHED_schedule"
VALIDATION = "VK_LAYER_KHRONOS_validation"
WRONG = ("VUID-VkSemaphoreSignalInfo-value-03259", "UNASSIGNED-VkSemaphore-state-timeout")


def lavapipe():
    """The manifest of the driver that computes on the CPU. None: it is not here."""
    for folder in ICDS:
        if os.path.isdir(folder):
            for name in sorted(os.listdir(folder)):
                if name.startswith("lvp_icd"):
                    return os.path.join(folder, name)
    return None


def plain(**extra):
    """An environment without the layer, whose only device is lavapipe."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
    driver = lavapipe()
    if driver:
        env.update(VK_ICD_FILENAMES=driver, VK_DRIVER_FILES=driver)
    env.update(NODEVICE_SELECT="1", **extra)   # a layer of Mesa's that needs a display
    return env


def layered(shims, layers=NAME, **extra):
    """With the layer, which lies in the folder `shims`."""
    return plain(VK_ADD_LAYER_PATH=shims, VK_INSTANCE_LAYERS=layers, **extra)


def judged(lines):
    """What a program printed, without two findings that are wrong. Debian 12's validation layer takes what the host has signalled
    for pending until a thread of its own has noted what waited for it. No queue signals the semaphores of our gates. On a busy
    machine another thread of its own comes late, and it says itself that this is most likely a defect of the validation."""
    wrong, kept = False, []
    for line in lines:
        wrong = line.startswith(WRONG) or (wrong and line.startswith("   "))
        if not wrong:
            kept.append(line)
    return kept


def xserver(program, *arguments):
    """The socket of an xserver of our own."""
    return own_xserver.xserver(program, plain(), *arguments)
