"""What ``keyhole plan`` finds out, as data and as tables."""

from typing import Any

import click

from keyhole import theory
from keyhole.cli.showing import print_table, say, table
from keyhole.cli.words import number, plural

#: What a plan says, in the order in which it is shown.
_ROWS = {
    "n_nonzero_coefs": "attributes in the model",
    "step_size": "step size",
    "n_updates": "updates",
    "n_rounds": "rounds",
    "exploration_updates": "exploration updates a round",
    "exploitation_updates": "exploitation updates a round",
    "batch_size": "examples a query",
    "exploration_batch": "examples a query, exploring",
    "exploitation_batch": "examples a query, exploiting",
    "total_examples": "examples in all",
    "promised_error": "promised excess risk",
}


class Planning:
    """The plans for one problem, or the sentence that says why there is none; and Table 1."""

    def __init__(
        self,
        *,
        observe: int,
        eps: float,
        initial_gap: float,
        delta: float,
        r_min: float | None,
        nonzero: int | None,
        **known: Any,
    ) -> None:
        self.constants = c = theory.Constants(**known)
        self.goal = {"n_observed": observe, "eps": eps, "initial_gap": initial_gap, "delta": delta}
        self.bound = theory.sparsity(c, eta=theory.step_size(c.L))
        fits = nonzero is not None or self.bound < observe
        # Where the bound does not fit, a plan with s_star is made and dropped: it checks the rest of the goal.
        s = nonzero if nonzero is not None else (None if fits else c.s_star)
        goal: dict[str, Any] = {**self.goal, "n_nonzero_coefs": s}
        plans: dict[str, Any] = {"Exploration": theory.plan_exploration(c, **goal)}
        if r_min is not None:
            plans["Hybrid"] = theory.plan_hybrid(c, r_min=r_min, **goal)
        self.plans = plans if fits else {}
        self.table_1 = theory.Problem(
            d=c.d, n_observed=observe, s_star=c.s_star, sigma=c.sigma, eps=eps, r_min=1.0 if r_min is None else r_min
        )

    def as_data(self) -> dict[str, Any]:
        """Everything as JSON values."""
        c = self.constants
        names = ("L", "mu", "R_inf", "sigma", "s_star", "d", "kappa")
        return {
            "constants": {name: getattr(c, name) for name in names},
            "goal": self.goal,
            "n_nonzero_coefs_bound": self.bound,
            "obstacle": self._obstacle(),
            "plans": {name.lower(): self._plan_data(plan) for name, plan in self.plans.items()},
            "table_1": [
                {"method": row.name, "examples": row.examples(self.table_1), "attributes_needed": row.attributes_needed}
                | {"assumption": row.assumption, "objective": row.objective}
                for row in theory.TABLE_1
            ],
        }

    def show(self) -> None:
        """Everything as tables."""
        g, c = self.goal, self.constants
        say(
            f"To bring the excess risk from {number(g['initial_gap'])} to {number(g['eps'])} with probability",
            f"{1 - g['delta']:.6g}, looking at {g['n_observed']:,} of {plural(c.d, 'attribute')} at a time",
            f"(kappa = {number(c.kappa)}):",
        )
        click.echo()
        if self.plans:
            self._show_plans()
            self._show_conditions()
        else:
            say(self._obstacle() or "")
        self._show_table_1()

    def _obstacle(self) -> str | None:
        if self.plans:
            return None
        s, observe = plural(self.bound, "attribute"), self.goal["n_observed"]
        return (
            f"The theory asks for a model of {s}, which does not fit below --observe {observe}; that bound is far "
            "larger than practice needs, so say --nonzero to plan with a smaller model and to see which of the "
            "theory's conditions then fail."
        )

    def _plan_data(self, plan: Any) -> dict[str, Any]:
        found = {name: _entry(plan, name) for name in _ROWS if hasattr(plan, name)}
        found["conditions"] = [
            {"name": it.name, "left": it.left, "right": it.right, "holds": it.holds} for it in plan.conditions
        ]
        return found

    def _show_plans(self) -> None:
        shown = table("", *(f">{name}" for name in self.plans))
        for name, label in _ROWS.items():
            if any(hasattr(plan, name) for plan in self.plans.values()):
                cells = [_in_words(_entry(plan, name)) if hasattr(plan, name) else "" for plan in self.plans.values()]
                shown.add_row(label, *cells)
        print_table(shown)
        click.echo()

    def _show_conditions(self) -> None:
        say("The promise holds if these do:")
        shown = table("condition", *(f">{name}" for name in self.plans))
        listed = [plan.conditions for plan in self.plans.values()]
        for versions in zip(*listed, strict=True):
            sides = [f"{it.left:.3g} <= {it.right:.3g} {'holds' if it.holds else 'FAILS'}" for it in versions]
            shown.add_row(versions[0].name, *sides)
        print_table(shown)
        failing = {it.name: it.sentence for conditions in listed for it in conditions if not it.holds}
        if failing:
            say("So nothing is promised.", *failing.values())

    def _show_table_1(self) -> None:
        click.echo()
        say("Table 1, how many examples each method needs (constants and logarithms dropped):")
        shown = table("method", ">examples", "looks at", "bounds", "assumes")
        for row in theory.TABLE_1:
            shown.add_row(
                row.name, f"{row.examples(self.table_1):.1e}", row.attributes_needed, row.objective, row.assumption
            )
        print_table(shown)
        eight = theory.scheduled_rda(self.table_1, exponent=8)
        say(f"RDA2 and RDA3 are as printed, with (d/s')^16; Li et al. (2025) read an 8 there, which makes {eight:.1e}.")


def _entry(plan: Any, name: str) -> Any:
    """An entry of a plan; a schedule as its first and last round."""
    value = getattr(plan, name)
    return [value(0), value(plan.n_rounds - 1)] if callable(value) else value


def _in_words(entry: Any) -> str:
    return " .. ".join(number(value) for value in entry) if isinstance(entry, list) else number(entry)
