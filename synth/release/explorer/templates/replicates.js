// Published counts, and intervals for them from replicates, as synth/reading/replicate_quantities.py
// has them: the variance is the factor times the mean square of what replicates are off.

const MOST_REPLICATED = 16;

class PublishedCounts {
  constructor({ columns, cells, rows, replicates }, intervals) {
    this.columns = columns;
    this.cells = cells;
    this.rows = rows;
    this.replicates = replicates;
    this.intervals = intervals;
    this.tables = replicates ? [cells.counts, ...replicates.counts].map((counts) => Float64Array.from(counts)) : [];
    this.answers = new Map();
  }

  // The published rows that a query counts; null where the page does not hold them.
  count(where) {
    if (!where.length) return this.rows;
    if (!this.cells) return null;
    const met = this.conditionsMet(where);
    const every = 2 ** where.length - 1;
    return this.cells.counts.reduce((sum, count, cell) => (met[cell] === every ? sum + count : sum), 0);
  }

  // For every published cell a number, the bits of which say what conditions it meets.
  conditionsMet(where) {
    const met = new Float64Array(this.cells.counts.length);
    where.forEach(([column, taken], i) => {
      const bit = new Float64Array(this.columns[column].labels.length);
      for (const code of taken) bit[code] = 2 ** i;
      const codes = this.cells.codes[column];
      for (let cell = 0; cell < met.length; cell++) met[cell] += bit[codes[cell]];
    });
    return met;
  }

  // The counts of a query and of all its wholes, in the release and in every replicate: cells are
  // added up by what conditions they meet, and then those that meet one to those that do not.
  countsOfWholes(where) {
    const met = this.conditionsMet(where);
    return this.tables.map((counts) => {
      const sums = new Float64Array(2 ** where.length);
      for (let cell = 0; cell < met.length; cell++) sums[met[cell]] += counts[cell];
      for (let bit = 1; bit < sums.length; bit *= 2) {
        for (let whole = 0; whole < sums.length; whole++) if (!(whole & bit)) sums[whole] += sums[whole | bit];
      }
      return sums;
    });
  }

  // The count in the release and in every replicate, and an interval inside those of its wholes.
  known(where, level) {
    return kept(this.answers, `${JSON.stringify(where)} ${level}`, () => {
      const tables = this.countsOfWholes(where);
      let [low, high] = [Infinity, Infinity];
      for (let whole = 0; whole < 2 ** where.length; whole++) {
        const values = tables.map((sums) => sums[whole]);
        const width = this.replicates.reach[level] * this.sd(values);
        low = Math.min(low, Math.max(Math.ceil(values[0] - width), 0));
        high = Math.min(high, Math.floor(values[0] + width));
      }
      [low, high] = this.intervals.insidePublicBounds(where, low, high);
      return { values: tables.map((sums) => sums.at(-1)), low, high };
    });
  }

  sd(values) {
    const squares = values.slice(1).reduce((sum, value) => sum + (value - values[0]) ** 2, 0);
    return Math.sqrt(this.replicates.factor * squares / (values.length - 1));
  }

  // {estimate, sd, low, high}; null without replicates, or with too many conditions.
  answer(where, level) {
    if (!this.replicates || where.length > MOST_REPLICATED) return null;
    const { values, low, high } = this.known(where, level);
    return { method: "replicates", estimate: values[0], sd: this.sd(values), low, high };
  }

  // {estimate, low, high}; nothing bounds it where some replicate has nothing to divide by.
  share(part, whole, level) {
    if (!this.replicates || part.length > MOST_REPLICATED) return null;
    const wholes = this.known(whole, level).values;
    const values = this.known(part, level).values.map((count, i) => count / wholes[i]);
    if (!values.every(Number.isFinite)) return { estimate: Number.isFinite(values[0]) ? values[0] : null, low: 0, high: 1 };
    const width = this.replicates.reach[level] * this.sd(values);
    return { estimate: values[0], low: Math.max(values[0] - width, 0), high: Math.min(values[0] + width, 1) };
  }
}
