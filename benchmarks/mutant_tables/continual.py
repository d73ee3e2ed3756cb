"""Counting that goes on: what every node costs, and what the count so far is made of."""

from __future__ import annotations

from .mutant import Mutant, broken

MUTANTS: tuple[Mutant, ...] = (
    *broken(
        "synth/privacy/continual.py",
        (
            "every level has the whole budget",
            "return replace(event, epsilon=event.epsilon / self.levels)",
            "return replace(event, epsilon=event.epsilon)",
        ),
        (
            "every level has too large a share of rho",
            "return replace(event, rho=event.rho / self.levels)",
            "return replace(event, rho=event.rho * 2 / (self.levels + 1))",
        ),
        (
            "one level too few",
            "while self.arity**levels <= self.horizon:",
            "while self.arity**levels < self.horizon:",
        ),
        (
            "a node one period too long",
            "for each in range(period - size + 1, period + 1)))",
            "for each in range(max(1, period - size), period + 1)))",
        ),
        (
            "a node is summed twice",
            "                found.append((places[end, size], Fraction(1)))",
            "                found.append((places[end, size], Fraction(1 + (end == period))))",
        ),
        (
            "the sensitivity of the first period's node alone",
            "return sum(weight**2 for weight in self.ages)",
            "return self.ages[0] ** 2",
        ),
        (
            "the sensitivity of a horizon that is one period shorter",
            "return sum(weight**2 for weight in self.ages)",
            "return sum(weight**2 for weight in self.ages[: max(1, self.horizon - 1)])",
        ),
        (
            "weights of the nodes in place of those of their inverse",
            "(node - 1, Fraction(powers[period - node], self.scale ** (period - node + 1)))",
            "(node - 1, Fraction(self.ages[period - node], self.scale**2))",
        ),
        (
            "the noise of rounding is left out",
            "sigma_squared = event.sigma_squared * factor + _ROUNDED",
            "sigma_squared = event.sigma_squared * factor",
        ),
        (
            "horizons that ended have no noise",
            "nodes = finished_cycles * self.summed_nodes(self.horizon) + self.summed_nodes(period)",
            "nodes = self.summed_nodes(period)",
        ),
        (
            "the nodes of the first horizon are summed again",
            "(cycle * each + number, weight)",
            "(number, weight)",
        ),
        (
            "weighted sums for Laplace noise",
            "    if mechanism == GAUSSIAN:\n        root =",
            "    if mechanism in (LAPLACE, GAUSSIAN):\n        root =",
        ),
        by=("exact/test_continual.py",),
    ),
    *broken(
        "synth/curator/measuring.py",
        (
            "all nodes of a period have the same noise",
            "first = number * len(events)",
            "first = 0",
        ),
        by=("unit/curator/test_nodes.py",),
    ),
    *broken(
        "synth/job/continual.py",
        (
            "noisy counts of the period before that were changed",
            "if path.is_file() and file_sha256(path) == digest:",
            "if path.is_file():",
        ),
        (
            "another first period, and the same charge",
            "            same = part == series.part(series.index(part.period))\n",
            "            same = part.name == series.name\n",
        ),
        (
            "counts of another configuration are added up",
            "if found.index != index - 1 or found.plan.counted_hash != config.counted_hash:",
            "if found.index != index - 1:",
        ),
        by=("unit/job/test_continual.py",),
    ),
    *broken(
        "synth/release/verification/measurements_check.py",
        (
            "nodes may cost what they like",
            "return max(lost.values()) * of_one > (charged.epsilon or 0)",
            "return min(lost.values()) * of_one > (charged.epsilon or 0)",
        ),
        (
            "tables whose nodes cost too much pass",
            "        if known[key]:\n",
            "        if known[key] is None:\n",
        ),
        (
            "weights of Gaussian nodes are not squared",
            "power = 1 if charged.rho is None else 2",
            "power = 1",
        ),
        (
            "sums that count a period twice",
            "if any(abs(times - 1) > NEAR for times in counted[1:]):",
            "if any(times < 1 - NEAR for times in counted[1:]):",
        ),
        by=("unit/release/test_continual_check.py",),
    ),
    *broken(
        "synth/noise/mechanism.py",
        (
            "a sum of tables is measured with the noise of one",
            "if isinstance(event, TableEvent) and event.summed != 1:",
            "if isinstance(event, TableEvent) and event.summed < 1:",
        ),
        (
            "the variance of a sum is that of one noise",
            "return event.summed * noise_law(replace(event, summed=1)).variance",
            "return noise_law(replace(event, summed=1)).variance",
        ),
        by=("unit/measurements/test_summed_noise.py",),
    ),
    *broken(
        "synth/measurements/combined_noise.py",
        (
            "intervals of a sum are those of one noise",
            "noises = count * event.summed",
            "noises = count",
        ),
        by=("unit/measurements/test_summed_noise.py",),
    ),
    *broken(
        "synth/privacy/accounting.py",
        (
            "a sum of tables can be charged",
            "if isinstance(event, TableEvent) and event.summed != 1:",
            "if isinstance(event, TableEvent) and event.summed < 1:",
        ),
        by=("exact/test_continual.py",),
    ),
)
