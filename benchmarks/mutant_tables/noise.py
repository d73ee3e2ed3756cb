"""The noise: its parameters, the tables it is drawn from, and the random words."""

from __future__ import annotations

from .mutant import Mutant, broken

MUTANTS: tuple[Mutant, ...] = (
    *broken(
        "synth/measurements/combined_noise.py",
        (
            "weights of thousands on the grid of a law",
            "narrow = noise._rounded()",
            "narrow = noise",
        ),
        by=("unit/measurements/test_measured_counts.py",),
    ),
    *broken(
        "synth/noise/discrete_laplace.py",
        (
            "Laplace noise of twice the epsilon",
            "return exponential_rounded_up(min(self.rate, LARGEST_RATE))",
            "return exponential_rounded_up(min(2 * self.rate, LARGEST_RATE))",
        ),
        (
            "no largest Laplace rate",
            "return exponential_rounded_up(min(self.rate, LARGEST_RATE))",
            "return exponential_rounded_up(self.rate)",
        ),
        (
            "epsilon per record without the sensitivity",
            "return self.epsilon / self.sensitivity_l1",
            "return self.epsilon",
        ),
        ("epsilon 0 is noise", "if self.epsilon <= 0:", "if self.epsilon < 0:"),
        (
            "a sensitivity of 0 is one",
            "if self.sensitivity_l1 < 1:",
            "if self.sensitivity_l1 < 0:",
        ),
        (
            "an epsilon in floating point",
            "if type(self.epsilon) is not Fraction:",
            "if type(self.epsilon) not in (Fraction, float):",
        ),
        (
            "two-sided tails counted once",
            "limit = miss * (1 + self.alpha) / 2",
            "limit = miss * (1 + self.alpha)",
        ),
        by=("exact/test_alpha.py", "unit/noise/test_discrete_laplace.py"),
    ),
    *broken(
        "synth/noise/discrete_laplace.py",
        (
            "a Laplace digit at the next place",
            "digits.append(Part(step, DigitDifference(self.alpha, step, base)))",
            "digits.append(Part(step, DigitDifference(self.alpha, 2 * step, base)))",
        ),
        (
            "the last Laplace part as if it was the first",
            "return (*digits, Part(step, TwoSidedGeometric(self.alpha, step)))",
            "return (*digits, Part(step, TwoSidedGeometric(self.alpha, 1)))",
        ),
        by=("exact/test_decomposition.py",),
    ),
    *broken(
        "synth/noise/discrete_laplace.py",
        (
            "a Laplace tail one step too short",
            "steps = value + 1 if value >= 0 else -value",
            "steps = value + 2 if value >= 0 else -value",
        ),
        (
            "Laplace bounds not mirrored",
            "return (low, high) if value < 0 else ((1 << bits) - high, (1 << bits) - low)",
            "return (low, high) if value < 0 else ((1 << bits) - low, (1 << bits) - high)",
        ),
        (
            "a lower bound of the Laplace law by the wrong end",
            "low = (low << work) // (one + b_high) >> _GUARD",
            "low = -((-high << work) // (one + b_low) >> _GUARD)",
        ),
        by=("exact/test_table_masses.py", "unit/noise/test_discrete_laplace.py"),
    ),
    *broken(
        "synth/noise/discrete_laplace.py",
        (
            "a middle power of a digit counted twice",
            "ends = {d, 2 * base - 2 - d}",
            "ends = (d, 2 * base - 2 - d)",
        ),
        by=("exact/test_table_masses.py", "exact/test_decomposition.py"),
    ),
    *broken(
        "synth/noise/law.py",
        (
            "alpha rounded down",
            "return Fraction(-(-value >> dropped) << dropped, 1 << bits)",
            "return Fraction((value >> dropped) << dropped, 1 << bits)",
        ),
        (
            "what the series leaves out is forgotten below",
            "return max(0, low - rest), high + rest",
            "return max(0, low), high + rest",
        ),
        (
            "what the series leaves out is forgotten above",
            "return max(0, low - rest), high + rest",
            "return max(0, low - rest), high",
        ),
        (
            "the series ends too early",
            "while term_high > 1:",
            "while term_high > 1 << 40:",
        ),
        (
            "a halving without its squaring",
            "for _ in range(halvings):",
            "for _ in range(halvings - 1):",
        ),
        (
            "an upper bound of a power rounded down",
            "factor_high = -((-base.numerator << work) // base.denominator)",
            "factor_high = (base.numerator << work) // base.denominator",
        ),
        (
            "a lower bound of a power rounded up",
            "return low >> guard, -(-high >> guard)",
            "return -(-low >> guard), -(-high >> guard)",
        ),
        by=("exact/test_alpha.py",),
    ),
    *broken(
        "synth/noise/mechanism.py",
        (
            "Laplace noise of sensitivity one",
            "return DiscreteLaplace(event.epsilon, event.sensitivity_l1)",
            "return DiscreteLaplace(event.epsilon, 1)",
        ),
        (
            "Gaussian noise by the L1 sensitivity",
            "return DiscreteGaussian(event.rho, event.sensitivity_l2_squared)",
            "return DiscreteGaussian(event.rho, event.sensitivity_l1)",
        ),
        by=("unit/noise/test_discrete_gaussian.py", "exact/test_whole_plans.py"),
    ),
    *broken(
        "synth/noise/discrete_gaussian.py",
        (
            "Gaussian noise of half the variance",
            "return min(self.rho / self.sensitivity_l2_squared, LARGEST_RATE)",
            "return min(2 * self.rho / self.sensitivity_l2_squared, LARGEST_RATE)",
        ),
        (
            "no largest Gaussian rate",
            "return min(self.rho / self.sensitivity_l2_squared, LARGEST_RATE)",
            "return self.rho / self.sensitivity_l2_squared",
        ),
        ("rho 0 is noise", "if self.rho <= 0:", "if self.rho < 0:"),
        (
            "any width of Gaussian noise",
            "if self.sigma_squared > LARGEST_SIGMA_SQUARED:",
            "if self.sigma_squared < 0:",
        ),
        by=("unit/noise/test_discrete_gaussian.py",),
    ),
    *broken(
        "synth/noise/discrete_gaussian.py",
        (
            "the Gaussian law is not symmetric",
            "low, high = tails.bounds(value + 1)",
            "low, high = tails.bounds(value)",
        ),
        (
            "Gaussian weights without the square",
            "exponential_bounds(self.rate * magnitude**2, bits + _EXPONENTIAL_GUARD)",
            "exponential_bounds(self.rate * magnitude, bits + _EXPONENTIAL_GUARD)",
        ),
        (
            "Gaussian weights rounded inwards",
            "return low >> _EXPONENTIAL_GUARD, -(-high >> _EXPONENTIAL_GUARD)",
            "return -(-low >> _EXPONENTIAL_GUARD), high >> _EXPONENTIAL_GUARD",
        ),
        (
            "a small variance without the middle",
            "return float(Fraction(2 * squares, 2 * sum(low) - low[0]))",
            "return float(Fraction(2 * squares, 2 * sum(low)))",
        ),
        by=("exact/test_gaussian.py", "exact/test_blocks.py"),
    ),
    *broken(
        "synth/noise/quantile_table.py",
        (
            "an undecided bucket taken for sure at its end",
            "stop = lower[i] // _KEYS_PER_BUCKET",
            "stop = -(-lower[i] // _KEYS_PER_BUCKET)",
        ),
        (
            "an undecided bucket taken for sure at its start",
            "start = -(-upper[i - 1] // _KEYS_PER_BUCKET)",
            "start = upper[i - 1] // _KEYS_PER_BUCKET",
        ),
        (
            "refinement by the low bits of a word",
            "keys |= words >> np.uint64(BUCKET_BITS)",
            "keys |= words & np.uint64((1 << (KEY_BITS - BUCKET_BITS)) - 1)",
        ),
        (
            "a refined value is not moved to its place",
            "        result += self.first\n",
            "        result += self.first + 1\n",
        ),
        (
            "a threshold belongs to the value below",
            'result[search] = np.searchsorted(self.lower, searched, side="right")',
            'result[search] = np.searchsorted(self.lower, searched, side="left")',
        ),
        (
            "what 64 bits leave open is taken as it is",
            "for i in is_open.nonzero()[0].tolist():",
            "for i in is_open.nonzero()[0].tolist()[:0]:",
        ),
        (
            "refined values without their step",
            "result *= self.step",
            "result *= 1",
        ),
        (
            "a quantile is claimed below by the lower bound",
            "return law.cdf_bounds(x, bits)[1] <= prefix",
            "return law.cdf_bounds(x, bits)[0] <= prefix",
        ),
        (
            "a quantile is claimed above by the upper bound",
            "return prefix + 1 <= law.cdf_bounds(x, bits)[0]",
            "return prefix + 1 <= law.cdf_bounds(x, bits)[1]",
        ),
        (
            "a quantile is claimed without the last digit",
            "return prefix + 1 <= law.cdf_bounds(x, bits)[0]",
            "return prefix <= law.cdf_bounds(x, bits)[0]",
        ),
        (
            "the same further word again",
            "            number += 1\n",
            "            number += 0\n",
        ),
        (
            "nothing beyond the ends of the thresholds",
            "lower[0] = 0  # below the first value nothing is certain",
            "lower[0] = 1 << 44  # below the first value nothing is certain",
        ),
        by=(
            "unit/noise/test_sampler.py",
            "exact/test_table_masses.py",
            "exact/test_gaussian.py",
        ),
    ),
    *broken(
        "synth/noise/block_table.py",
        (
            "an offset shared with the bucket",
            "offset = (block[:, 0] >> np.uint64(BUCKET_BITS)).astype(np.int64) & (table.size - 1)",
            "offset = block[:, 0].astype(np.int64) & (table.size - 1)",
        ),
        (
            "rejected proposals are accepted",
            "        cells = cells[rejected]\n",
            "        cells = cells[rejected][:0]\n",
        ),
        (
            "a fraction decided by its first digits",
            "return below + 1 <= height - slack, below >= height + slack",
            "return below < height, below >= height",
        ),
        (
            "a negative block is not mirrored",
            "beyond = np.where(block < 0, table.size - offset, offset)",
            "beyond = np.where(block < 0, offset, offset)",
        ),
        (
            "an open comparison goes on with words that were used",
            "_words_of_one(words, cells[i : i + 1], number + 1),",
            "_words_of_one(words, cells[i : i + 1], number),",
        ),
        (
            "tails without an end of their own",
            "factor <<= TAIL_WIDTH_BITS + far + 1",
            "factor <<= TAIL_WIDTH_BITS + far",
        ),
        (
            "the magnitude of a negative tail starts one too far in",
            "value = magnitude if block > 0 else -1 - magnitude",
            "value = magnitude if block > 0 else -magnitude",
        ),
        (
            "an exact comparison by the upper bound",
            "if (prefix + 1) << _GUARD <= factor * low:",
            "if (prefix + 1) << _GUARD <= factor * high:",
        ),
        by=("exact/test_blocks.py", "unit/noise/test_discrete_gaussian.py"),
    ),
    *broken(
        "synth/noise/stream.py",
        (
            "counters without the lane",
            "fields = ((lane, LANES), (table, TABLES),",
            "fields = ((lane * 0, LANES), (table, TABLES),",
        ),
        (
            "counters without the table",
            "fields = ((lane, LANES), (table, TABLES),",
            "fields = ((lane, LANES), (table * 0, TABLES),",
        ),
        (
            "counters without the round",
            "(round_number, ROUNDS), (index, 1 << 64))",
            "(round_number * 0, ROUNDS), (index, 1 << 64))",
        ),
        (
            "fields of the counter overlap",
            'field.to_bytes((limit.bit_length() - 1) // 8, "big")',
            '(field % 256).to_bytes((limit.bit_length() - 1) // 8, "big")',
        ),
        (
            "a counter out of range is cut",
            "not 0 <= field < limit for field, limit in fields):",
            "not 0 <= field <= limit for field, limit in fields):",
        ),
        (
            "a fixed key",
            "return cls(key=os.urandom(KEY_BYTES))",
            "return cls(key=bytes(KEY_BYTES))",
        ),
        (
            "the start of a claim may overlap",
            "if any(start < its_stop and its_start < stop for its_start, its_stop in claimed):",
            "if any(start < its_stop - 1 and its_start < stop for its_start, its_stop in claimed):",
        ),
        (
            "the end of a claim may overlap",
            "if any(start < its_stop and its_start < stop for its_start, its_stop in claimed):",
            "if any(start < its_stop and its_start < stop - 1 for its_start, its_stop in claimed):",
        ),
        (
            "claims are forgotten",
            "            claimed.append((start, stop))\n",
            "            claimed.append((start, start))\n",
        ),
        (
            "a claim that swallows its neighbour loses its start",
            "start = claimed.pop()[0]",
            "claimed.pop()",
        ),
        (
            "cells beyond the stream",
            "if table >= TABLES or stop > CELLS:",
            "if table > TABLES or stop > CELLS + 1:",
        ),
        (
            "the words of a choice are given twice",
            "            self._selections.add(number)\n",
            "            self._selections.add(-1)\n",
        ),
        (
            "choices in a lane of the noise",
            "SELECTION_LANE = LANES - 1",
            "SELECTION_LANE = 0",
        ),
        (
            "single blocks forget their round",
            'int.from_bytes(counter_block(lane, table, round_number, 0)[:8], "big")',
            'int.from_bytes(counter_block(lane, table, 0, 0)[:8], "big")',
        ),
        (
            "a closed stream goes on",
            "        if self._closed:\n",
            "        if not self._closed and self._closed:\n",
        ),
        (
            "a key that is not wiped",
            "self._key[:] = bytes(KEY_BYTES)",
            "self._key[:1] = bytes(1)",
        ),
        (
            "a forked process goes on",
            "if os.getpid() != self._process:",
            "if os.getpid() < 0:",
        ),
        (
            "a key of any size",
            "if len(key) != KEY_BYTES:",
            "if len(key) > KEY_BYTES:",
        ),
        (
            "the key is printed",
            'return "NoiseStream(key withheld)"',
            'return f"NoiseStream({bytes(self._key)!r})"',
        ),
        by=(
            "unit/noise/test_stream.py",
            "unit/noise/test_selection.py",
            "unit/noise/test_sampler.py",
        ),
    ),
    *broken(
        "synth/noise/table_sampler.py",
        (
            "noise is subtracted from the counts of a block",
            "        block += noise\n",
            "        block -= noise\n",
        ),
        (
            "noise that is added is not claimed",
            "        stream.claim(table, 0, len(counts))\n",
            "        stream.claim(table, 0, 0)\n",
        ),
        (
            "noise that is drawn is not claimed",
            "        stream.claim(table, start, count)\n",
            "        stream.claim(table, start, 0)\n",
        ),
        (
            "every block has the noise of the first",
            "self._fill(noise, stream, table, start, chunk)\n        block",
            "self._fill(noise, stream, table, 0, chunk)\n        block",
        ),
        (
            "the last block gets no noise",
            "starts = range(0, len(counts), BLOCK_CELLS)",
            "starts = range(0, len(counts) - 1, BLOCK_CELLS)[:-1] or range(1)",
        ),
        (
            "undecided cells of the first chunks stay open",
            "if number % CHUNKS_REFINED_AT_ONCE == 0 or end == stop:",
            "if number % CHUNKS_REFINED_AT_ONCE == 0:",
        ),
        (
            "parts of the noise after the first are left out",
            "            for draw in draws[1:]:\n",
            "            for draw in draws[2:]:\n",
        ),
        (
            "counts of 32 bits get noise",
            "if counts.ndim != 1 or counts.dtype != np.int64:",
            'if counts.ndim != 1 or counts.dtype.kind != "i":',
        ),
        by=("unit/noise/test_threads.py", "unit/noise/test_sampler.py"),
    ),
    *broken(
        "synth/noise/selection.py",
        (
            "choices of twice the epsilon",
            "factor = epsilon / (2 * sensitivity)",
            "factor = epsilon / sensitivity",
        ),
        (
            "choices that forget the best score",
            "is_taken(factor * (best - scores[index]), words)",
            "is_taken(factor * abs(scores[index]), words)",
        ),
        (
            "choices in a fixed order",
            "order = random_order(len(scores), words)",
            "order = list(range(len(scores)))",
        ),
        (
            "an order by swaps with any place",
            "other = uniform_below(last + 1, words)",
            "other = uniform_below(count, words)",
        ),
        (
            "a bias of the remainder",
            "next(word for word in words if word < multiple) % limit",
            "next(words) % limit",
        ),
        (
            "a flip decided by the upper bound",
            "if prefix + 1 << _GUARD <= low:",
            "if prefix << _GUARD < high:",
        ),
        by=("exact/test_selection.py", "unit/noise/test_selection.py"),
    ),
)
