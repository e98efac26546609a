"""Where kernels run: an NVIDIA GPU (`gpu`, through PyCUDA) or this machine's processor (`cpu`).

Both offer the one small interface of `device`: compile a program, open a run of it, launch, look at the
memory. `find` opens the device a user names.
"""

from cudamm.devices.device import Device, DeviceInfo, Run, Target
from cudamm.devices.find import find

__all__ = ["Device", "DeviceInfo", "Run", "Target", "find"]
