"""The options that say how `bench` and `sweep` measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from cloup import option, option_group

from cudamm.api.defaults import OCCUPANCY_ARCH
from cudamm.cli.fraction import FRACTION
from cudamm.cli.option_rules import Command, contradict
from cudamm.cli.shared_options import cold_option, device_options, fields_of, gathered

if TYPE_CHECKING:
    from cudamm.benchmark.sampling_policy import Settings


@dataclass(frozen=True)
class Measuring:
    """The options that say how to measure, as they were given."""

    runs: int | None
    warmup: int | None
    cold: bool
    max_noise: float
    max_time_s: float
    timeout_s: float
    verify: bool
    seed: int
    device_spec: str
    times: bool
    arch: str

    def settings(self, fmad: bool, *, drop: bool = False, each_may_fail: bool = False) -> Settings:
        """Return the same for `measure`."""
        from cudamm.benchmark.sampling_policy import Settings

        return Settings(
            fmad=fmad,
            runs=self.runs,
            warmup=self.warmup,
            verify=self.verify,
            cache="cold" if self.cold else "hot",
            max_noise=self.max_noise,
            max_time_s=self.max_time_s,
            drop=drop,
            each_may_fail=each_may_fail,
            times=self.times,
        )


def measuring_options(command: Command) -> Command:
    """Add the options that say how to measure; the command receives them as `measuring`."""
    options = option_group(
        "Measuring",
        option("--runs", type=click.IntRange(1, 100_000), help="Number of samples per variant."),
        option(
            "--until-stable", is_flag=True, show_default="unless --runs is given",
            help="Sample until the median can be trusted.",
        ),
        contradict("runs", "until_stable"),
        option(
            "--max-noise", type=FRACTION, default="0.5%", metavar="SHARE",
            help="A median is stable if the noise, or the median's standard error, is below this share.",
        ),
        option(
            "--max-time", "max_time_s", type=click.FloatRange(0, 86_400), default=2.0, metavar="SECONDS",
            help="Sampling a variant ends after this time, stable or not.",
        ),
        cold_option,
        option(
            "--warmup", type=click.IntRange(0), show_default="until the device was busy for 100 ms",
            help="Number of launches before the samples.",
        ),
        option("--verify/--no-verify", default=True, help="Verify each variant before timing it, or not."),
    )  # fmt: skip
    without_gpu = option_group(
        "Without a GPU",
        option("--times", is_flag=True, help="Time kernels too; a processor's times say nothing of a GPU."),
        option(
            "--arch", default=OCCUPANCY_ARCH, metavar="NAME",
            help="The architecture whose registers and occupancy are shown, such as sm_86.",
        ),
    )  # fmt: skip
    names = (*fields_of(Measuring), "until_stable")
    return gathered("measuring", _measuring, names, options, device_options, without_gpu)(command)


def _measuring(until_stable: bool, **given: Any) -> Measuring:
    """Return what was given; `--until-stable` is what happens without `--runs`."""
    return Measuring(**given)
