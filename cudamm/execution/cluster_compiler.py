"""Compile programs on the hosts of a cluster: each host with a GPU has a Dask worker for nvcc."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cudamm.compile.nvcc_compiler import compile_with_nvcc
from cudamm.compile.process_group import CORES
from cudamm.compile.program import Program
from cudamm.errors import CudammError

if TYPE_CHECKING:
    from cudamm.execution.cluster import Cluster

COMPILER = "cudamm compiler"
"""Name under which a Dask worker that compiles tells the scheduler the `nvcc_identity` of its host."""


@dataclass(frozen=True)
class ClusterCompiler:
    """The Dask worker of a host that compiles as this machine does.

    Attributes:
        name: name of the Dask worker, such as `node1/nvcc`.
        address: address of the Dask worker.
        cores: number of programs that it compiles at once.
    """

    name: str
    address: str
    cores: int


MOST_THREADS = 512
"""Maximum number of programs that a client has compiled at once."""


def compiled_here(program: bytes, arch: str) -> tuple[bytes, str] | None:
    """Compile a pickled program, in a Dask worker: see `compile_with_nvcc`. Return None if that fails."""
    received: Program = pickle.loads(program)  # noqa: S301 - of a client, whom Dask trusts
    try:
        return compile_with_nvcc(received, arch)
    except (CudammError, MemoryError):
        return None


@dataclass(frozen=True)
class HostCompilers:
    """The compilers of a cluster's hosts. Where they cannot help, this machine compiles.

    Dask gives each program to a host with a free core, and to another one if that host is lost; `Cluster`
    does so if it stands still. It does no harm if a program is compiled twice.
    """

    cluster: Cluster

    def threads(self) -> int:
        """Return the number of programs that are compiled at once."""
        return min(max(CORES, sum(found.cores for found in self.cluster.compilers())), MOST_THREADS)

    def compile(self, program: Program, arch: str) -> tuple[bytes, str]:
        """Do what `compile_with_nvcc` does.

        A program that reads the user's files is compiled on this machine, where they are. So is one that
        fails on a host, whose disk may be full: the error that counts is the one that it has here.
        """
        made = None if program.reads_files else self.cluster.compile(pickle.dumps(program), arch)
        return made or compile_with_nvcc(program, arch)
