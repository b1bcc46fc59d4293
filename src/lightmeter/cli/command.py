"""A typer command that is read without typer's conversion of types."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

from lightmeter.errors import LightmeterError


class PlainCommand(TyperCommand):
    """Hands texts over as they were typed; whoever gets them checks them.

    Typer converts types with pydantic, whose import takes longer than reading and evaluating a small run. All but
    plain texts and flags (``--help``, mistakes) is left to typer.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments into ``ctx.params``."""
        given, rest, order = self.make_parser(ctx).parse_args(args=list(args))
        self._refuse_repeated(order)
        given = {name: value for name, value in given.items() if isinstance(value, str | list | tuple | bool)}
        missing = any(p.required and not given.get(str(p.name)) for p in self.params)
        if rest or missing or given.get("help"):
            return list(super().parse_args(ctx, args))
        ctx.params.update({name: list(v) if isinstance(v, tuple) else v for name, v in given.items()})
        ctx.args = rest
        return list(rest)

    def _refuse_repeated(self, order: list[Any]) -> None:
        """An option of one value given twice: one of the two would be forgotten in silence."""
        for param in order:
            single = param.param_type_name == "option" and not param.multiple and not param.is_flag
            if single and order.count(param) > 1:
                raise LightmeterError(f"{param.opts[0]} is given twice. Accepted: once.")
