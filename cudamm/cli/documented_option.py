"""An option whose help ends with its default."""

from __future__ import annotations

import functools
from typing import Any

import click
import cloup


class DocumentedOption(cloup.Option):
    """An option whose help ends with `[default: …]`, also if the default is `none` or `off`."""

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Return what the help prints in brackets: the default, without click's parentheses and ranges."""
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)  # the message about a value outside of the range contains it
        if isinstance(self.show_default, str):
            extra["default"] = self.show_default
        else:
            extra.setdefault("default", "off" if self.is_flag else "none")
        return extra


option = functools.partial(cloup.option, cls=DocumentedOption)
