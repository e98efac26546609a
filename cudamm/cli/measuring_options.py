"""Options that determine how `bench` and `sweep` measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cloup import option_group

from cudamm.api.defaults import MOST_RUNS, MOST_SECONDS, MOST_WARMUP, OCCUPANCY_ARCH
from cudamm.cli.documented_option import option
from cudamm.cli.number_types import SHARE, DecimalNumber, WholeNumber
from cudamm.cli.option_rules import Command, contradict
from cudamm.cli.shared_options import cold_option, fields_of, gathered, several_devices_options

if TYPE_CHECKING:
    from cudamm.benchmark.sampling_policy import Settings
    from cudamm.kernels.input_kinds import AnyKind
    from cudamm.kernels.lower_precision import LowerPrecision


@dataclass(frozen=True)
class Measuring:
    """The values of the options that determine how to measure."""

    runs: int | None
    warmup: int | None
    cold: bool
    max_noise: float
    max_time_s: float
    timeout_s: float
    verify: bool
    seed: int
    inputs: AnyKind
    allowed_precision: LowerPrecision
    device_spec: str
    times: bool
    arch: str

    @property
    def verifies(self) -> bool:
        """Return whether products are verified; those of zeros are not."""
        return self.verify and self.inputs != "zeros"

    def settings(
        self, fmad: bool, *, drop: bool = False, each_may_fail: bool = False, finalists: int = 0
    ) -> Settings:
        """Return the settings for `measure`; with finalists, devices share the variants of a problem."""
        from cudamm.benchmark.sampling_policy import Settings

        return Settings(
            fmad=fmad,
            runs=self.runs,
            warmup=self.warmup,
            verify=self.verifies,
            cache="cold" if self.cold else "hot",
            max_noise=self.max_noise,
            max_time_s=self.max_time_s,
            drop=drop,
            each_may_fail=each_may_fail,
            times=self.times,
            shares_variants=finalists > 0,
            finalists=finalists,
        )


def measuring_options(command: Command) -> Command:
    """Add the options that determine how to measure; the command receives them as `measuring`."""
    options = option_group(
        "Measuring",
        option(
            "--runs", type=WholeNumber(1, MOST_RUNS), metavar="N", show_default="as --until-stable decides",
            help="Number of samples per variant.",
        ),
        option(
            "--until-stable", is_flag=True, show_default="on, unless --runs is given",
            help="Sample each variant until its median is stable.",
        ),
        contradict("runs", "until_stable"),
        option(
            "--max-noise", type=SHARE, default="0.5%", metavar="SHARE",
            help="The median is stable if the noise, or the median's standard error, is below this share.",
        ),
        option(
            "--max-time", "max_time_s", type=DecimalNumber(0, MOST_SECONDS), default=2.0, metavar="SECONDS",
            help="End the sampling of a variant after this time, stable or not.",
        ),
        cold_option,
        option(
            "--warmup", type=WholeNumber(0, MOST_WARMUP), metavar="N", show_default="as many as take 100 ms",
            help="Number of launches before the first sample.",
        ),
        option("--verify/--no-verify", default=True, help="Verify each variant before timing it, or not."),
    )  # fmt: skip
    without_gpu = option_group(
        "Without a GPU",
        option("--times", is_flag=True, help="Time kernels on the processor; a GPU can differ completely."),
        option(
            "--arch", default=OCCUPANCY_ARCH, metavar="NAME",
            help="Architecture for which registers and occupancy are shown, such as sm_86.",
        ),
    )  # fmt: skip
    names = (*fields_of(Measuring), "until_stable")
    return gathered("measuring", _measuring, names, options, several_devices_options, without_gpu)(command)


def _measuring(until_stable: bool, **given: Any) -> Measuring:
    """Return the given values. `--until-stable` is the same as no `--runs`."""
    return Measuring(**given)
