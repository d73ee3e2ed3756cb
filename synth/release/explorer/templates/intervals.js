// Intervals for counts of the raw table, inside those of their wholes and what is public, as
// synth/measurements/intervals.py has them.

const UPPER_SHARE = 0.8;

function choose(n, k) {
  let found = 1;
  for (let i = 1; i <= k; i++) found = found * (n - k + i) / i;
  return found;
}

// The probabilities with which own ends may lie above and below the true count.
function ownMisses(conditions, most, level) {
  const miss = 1 - level;
  const ofOrder = UPPER_SHARE * miss / (most + 1);
  let wholes = 0;
  for (let order = 0; order <= conditions; order++) wholes += choose(conditions, order) * (ofOrder / choose(most, order));
  return { below: miss - wholes, above: ofOrder / choose(most, conditions) };
}

// The query with each set of its conditions left out: itself, and at last all records.
function wholesOf(where) {
  const found = [];
  for (let kept = 2 ** where.length - 1; kept >= 0; kept--) found.push(where.filter((_, i) => (kept >> i) & 1));
  return found;
}

class Intervals {
  constructor({ columns, tables, impossible, totals, conditions }) {
    this.columns = columns;
    this.impossible = impossible;
    this.totals = totals;
    this.most = conditions;
    this.counts = new MeasuredCounts(columns, tables);
    this.known = new Map();
  }

  // {estimate, sd, low, high} by addition alone; null if no table answers. Neither end of a part
  // lies above that of a whole.
  measured(where, level) {
    if (where.length > this.most) return null;
    const own = this.own(where, level);
    if (!own) return null;
    const every = wholesOf(where).map((whole) => this.own(whole, level)).filter(Boolean);
    const lowest = Math.min(...every.map((ends) => ends.low));
    const highest = Math.min(...every.map((ends) => ends.high));
    const [low, high] = this.insidePublicBounds(where, lowest, highest);
    const { total, noise } = own;
    return { method: "measured", estimate: total / noise.divisor, sd: Math.sqrt(noiseVariance(noise)), low, high };
  }

  // The count and its own ends; null if no table answers alone.
  own(where, level) {
    return kept(this.known, `${JSON.stringify(where)} ${level}`, () => {
      const counted = this.counts.count(where);
      if (!counted) return null;
      const { below, above } = ownMisses(where.length, this.most, level);
      return { ...counted, ...endsOf(counted, below, above) };
    });
  }

  // Whole numbers between the ends, cut off at what is public.
  insidePublicBounds(where, low, high) {
    const [lowest, highest] = this.publicBounds(where);
    const top = highest === Infinity ? high : Math.max(Math.min(high, highest), lowest);
    return [Math.min(Math.max(low, lowest), top), top];
  }

  // The smallest and the largest count that public totals and impossible cells leave.
  publicBounds(where) {
    if (this.impossible.some((rule) => this.contains(rule, where))) return [0, 0];
    const below = this.totals.filter((total) => this.contains(where, total.where));
    const above = this.totals.filter((total) => this.contains(total.where, where));
    return [Math.max(0, ...below.map((each) => each.total)), Math.min(...above.map((each) => each.total))];
  }

  // Whether every cell of the inner set is in the outer one.
  contains(outer, inner) {
    return outer.every(([column, codes]) => {
      const found = inner.find((part) => part[0] === column);
      const taken = found ? found[1] : this.columns[column].labels.map((_, code) => code);
      return taken.every((code) => codes.includes(code));
    });
  }
}
