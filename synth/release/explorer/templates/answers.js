// Answers of this release: noisy counts with intervals, and the published counts beside them.

const PART_SHARE = 0.75;

class Answers {
  constructor(content) {
    this.columns = content.columns;
    this.intervals = new Intervals(content);
    this.published = new PublishedCounts(content, this.intervals);
  }

  // {published, method, estimate, sd, low, high}; without all but the first if nothing answers.
  answer(where, level, method = "auto") {
    const measured = method === "auto" ? this.intervals.measured(where, level) : null;
    return { published: this.published.count(where), ...(measured ?? this.published.answer(where, level)) };
  }

  // The part of the records of `whole` that `part` counts, {estimate, low, high}; null if nothing
  // answers. The estimate is null where noise leaves nothing to divide by.
  share(part, whole, level, method = "auto") {
    return (method === "auto" ? this.measuredShare(part, whole, level) : null) ?? this.published.share(part, whole, level);
  }

  // The extremes of two intervals that share what may be missed, as
  // synth/reading/measured_quantities.py has it.
  measuredShare(part, whole, level) {
    const one = this.intervals.measured(part, 1 - PART_SHARE * (1 - level));
    const other = this.intervals.measured(whole, 1 - (1 - PART_SHARE) * (1 - level));
    if (!one || !other) return null;
    const estimate = other.estimate > 0 ? one.estimate / other.estimate : null;
    const low = other.high ? one.low / other.high : 0;
    const high = other.low ? one.high / other.low : Infinity;
    return { estimate, low, high: Math.min(high, 1) };
  }
}

// Lines of CSV: the codes of a breakdown by name, then what is said of them.
function csvOf(columns, by, lines) {
  const field = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const head = [...by.map((column) => columns[column].name), "query", "estimate", "low", "high", "method", "sd", "published"];
  head.push("share", "share_low", "share_high", "share_within");
  const rows = lines.map(({ codes, where, answer, share, whole }) => [
    ...by.map((column, i) => columns[column].labels[codes[i]]),
    queryText(columns, where),
    answer.estimate, answer.low, answer.high, answer.method, answer.sd, answer.published,
    share?.estimate, share?.low, share?.high, queryText(columns, whole),
  ]);
  return [head, ...rows].map((row) => `${row.map(field).join(",")}\n`).join("");
}
