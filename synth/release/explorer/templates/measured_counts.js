// What the noisy tables say of a query by addition alone: an unbiased count and its noise, as
// synth/measurements/measured_counts.py has it.
//
// A query is a list of [column, codes] in the order of the columns, codes ascending; a column of
// which it takes all codes is not named.

const PARTS = 256;
const PARTS_OF_A_WEIGHT = 32;
const SURE = 1e9;

// To the nearest whole number, halves to the even one.
function roundEven(value) {
  const below = Math.floor(value);
  if (value - below !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}

function greatestCommonDivisor(a, b) {
  while (b) [a, b] = [b, a % b];
  return Math.abs(a);
}

// The solution of a square system of linear equations: elimination with the largest pivot.
function solved(matrix, target) {
  const size = target.length;
  const lines = matrix.map((line, i) => [...line, target[i]]);
  for (let column = 0; column < size; column++) {
    let pivot = column;
    for (let line = column + 1; line < size; line++) {
      if (Math.abs(lines[line][column]) > Math.abs(lines[pivot][column])) pivot = line;
    }
    [lines[column], lines[pivot]] = [lines[pivot], lines[column]];
    for (let line = column + 1; line < size; line++) {
      const factor = lines[line][column] / lines[column][column];
      if (factor === 0) continue;
      for (let i = column; i <= size; i++) lines[line][i] -= factor * lines[column][i];
    }
  }
  const found = new Array(size).fill(0);
  for (let line = size - 1; line >= 0; line--) {
    let rest = lines[line][size];
    for (let i = line + 1; i < size; i++) rest -= lines[line][i] * found[i];
    found[line] = rest / lines[line][line];
  }
  return found;
}

class MeasuredCounts {
  constructor(columns, tables) {
    this.columns = columns;
    this.tables = tables.map((table) => this.prepared(table));
    this.sums = new Map();
  }

  prepared(table) {
    const axes = table.columns.map((column, i) => ({ column, ...this.groups(column, table.coarsening[i]) }));
    const { rate, sigma_squared: sigmaSquared, summed = 1 } = table;
    return { ...table, axes, variance: partVariance({ weight: 1, count: summed, rate, sigmaSquared }) };
  }

  // The group of every code of a column, so many steps above the codes themselves.
  groups(column, steps) {
    const { labels, levels } = this.columns[column];
    if (!steps) return { size: labels.length, groupOf: labels.map((_, code) => code) };
    const level = levels[levels.length - steps];
    return { size: level.labels.length, groupOf: level.group_of };
  }

  // Which groups of an axis the codes make up; null if they cut one.
  inside(axis, codes) {
    const chosen = new Set(codes.map((code) => axis.groupOf[code]));
    const covered = axis.groupOf.filter((group) => chosen.has(group)).length;
    return covered === codes.length ? chosen : null;
  }

  // A table summed to some of its columns: noisy counts, and the noisy cells behind each sum.
  summedTo(number, columns) {
    return kept(this.sums, `${number} ${columns}`, () => {
      const { axes, counts } = this.tables[number];
      const strides = new Array(axes.length).fill(0);
      let size = 1;
      for (let i = axes.length - 1; i >= 0; i--) {
        if (columns.includes(axes[i].column)) {
          strides[i] = size;
          size *= axes[i].size;
        }
      }
      const sums = new Float64Array(size);
      const cells = new Float64Array(size);
      const place = new Array(axes.length).fill(0);
      let sum = 0;
      for (const count of counts) {
        if (count !== null) {
          sums[sum] += count;
          cells[sum] += 1;
        }
        for (let i = axes.length - 1; i >= 0; i--) {
          sum += strides[i];
          place[i] += 1;
          if (place[i] < axes[i].size) break;
          sum -= strides[i] * axes[i].size;
          place[i] = 0;
        }
      }
      return { sums, cells };
    });
  }

  // The sums of one table inside and outside of the codes of each column; a column that it does
  // not hold, or cuts, is summed out. `mask` has a bit for every column of the query that is
  // told apart, `side` says on which side of it: 1 is inside. The first column has the highest.
  rows(number, where) {
    const table = this.tables[number];
    const held = [];
    where.forEach(([column, codes], i) => {
      const axis = table.axes.find((each) => each.column === column);
      const groups = axis && this.inside(axis, codes);
      if (groups) held.push({ column, axis, groups, bit: 1 << (where.length - 1 - i) });
    });
    const mask = held.reduce((bits, each) => bits | each.bit, 0);
    const inOrder = table.axes.flatMap((axis) => held.filter((each) => each.axis === axis));
    const { sums, cells } = this.summedTo(number, held.map((each) => each.column));
    const found = new Map();
    for (let side = mask; ; side = (side - 1) & mask) {
      found.set(side, { total: 0, cells: 0, number, table, mask, side });
      if (side === 0) break;
    }
    const place = new Array(inOrder.length).fill(0);
    for (let sum = 0; sum < sums.length; sum++) {
      let side = 0;
      inOrder.forEach(({ groups, bit }, i) => {
        if (groups.has(place[i])) side |= bit;
      });
      const row = found.get(side);
      row.total += sums[sum];
      row.cells += cells[sum];
      for (let i = inOrder.length - 1; i >= 0; i--) {
        place[i] += 1;
        if (place[i] < inOrder[i].axis.size) break;
        place[i] = 0;
      }
    }
    const rows = [...found.values()].sort((a, b) => a.side - b.side);
    for (const row of rows) row.variance = Math.max(row.cells * table.variance, 1e-9);
    return rows;
  }

  // The least squares estimate {total, noise}, in parts of a record (noise.divisor); null if no
  // table answers alone.
  count(where) {
    const wanted = 2 ** where.length - 1;
    let rows = this.tables.flatMap((_, number) => this.rows(number, where));
    const alone = rows.filter((row) => row.mask === wanted && row.side === wanted);
    if (!alone.length) return null;
    const base = alone.reduce((best, row) => (row.variance < best.variance ? row : best));
    if (!base.cells) rows = [base];
    const { weights, divisor } = wholeWeights(rows, base, wanted);
    const total = rows.reduce((sum, row, i) => sum + weights[i] * row.total, 0);
    return { total, noise: combined(rows, weights, divisor) };
  }
}

// The noise of a weighted sum: noises of one law and weight together, in one order.
function combined(rows, weights, divisor) {
  const parts = new Map();
  rows.forEach((row, i) => {
    if (!weights[i] || !row.cells) return;
    const weight = Math.abs(weights[i]);
    const { rate, sigma_squared: sigmaSquared, summed = 1 } = row.table;
    const key = `${rate} ${sigmaSquared} ${weight}`;
    if (!parts.has(key)) parts.set(key, { weight, count: 0, rate, sigmaSquared });
    parts.get(key).count += summed * row.cells;
  });
  const inOrder = [...parts.values()].sort((a, b) => (
    (a.rate ?? 0) - (b.rate ?? 0) || (a.sigmaSquared ?? 0) - (b.sigmaSquared ?? 0) || a.weight - b.weight));
  return { parts: inOrder, divisor };
}

// Whole weights and their divisor: unbiased exactly, of least variance but for rounding.
function wholeWeights(rows, base, wanted) {
  if (rows.length === 1) return { weights: [1], divisor: 1 };
  const size = wanted + 1;
  const places = rows.map((row) => {
    const held = [];
    for (let place = 0; place < size; place++) if ((place & row.mask) === row.side) held.push(place);
    return held;
  });
  const matrix = Array.from({ length: size }, () => new Array(size).fill(0));
  rows.forEach((row, i) => {
    const precision = 1 / row.variance;
    for (const a of places[i]) for (const b of places[i]) matrix[a][b] += precision;
  });
  const target = new Array(size).fill(0);
  target[wanted] = 1;
  const found = solved(matrix, target);
  const own = rows.map((row) => row.number === base.number);
  const parts = Math.max(PARTS, 2 ** Math.ceil(Math.log2(PARTS_OF_A_WEIGHT * rows.length)));
  const given = new Array(size).fill(0);
  const weights = rows.map((row, i) => {
    if (own[i]) return 0;
    const best = places[i].reduce((sum, place) => sum + found[place], 0) / row.variance;
    const weight = roundEven(roundEven(parts * best * SURE) / SURE);
    for (const place of places[i]) given[place] += weight;
    return weight;
  });
  rows.forEach((row, i) => {
    if (own[i]) weights[i] = (row.side === wanted ? parts : 0) - given[row.side];
  });
  const divisor = weights.reduce(greatestCommonDivisor, parts);
  return { weights: weights.map((weight) => weight / divisor), divisor: parts / divisor };
}

// A whole count above the true one, and one below it, with at most these probabilities.
function endsOf({ total, noise }, below, above) {
  const low = -Math.floor((halfWidth(noise, 2 * below) - total) / noise.divisor);
  const high = Math.floor((total + halfWidth(noise, 2 * above)) / noise.divisor);
  return { low: Math.max(low, 0), high: Math.max(high, 0) };
}
