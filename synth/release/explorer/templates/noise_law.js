// The law of a weighted sum of noises, and the half width of an interval around it: what
// synth/measurements/combined_noise.py computes by a Fourier transform. Here the probability of
// a tail is taken straight from the characteristic function, as a sum of sines; both are exact
// to about 13 digits.
//
// A noise is {parts, divisor}; a part is {weight, count, rate} (Laplace) or
// {weight, count, sigmaSquared} (Gaussian): `count` noises of one table, added up, times a weight.

const LARGEST_GRID = 2 ** 18;
const LARGEST_WEIGHT = 256;
const WRAPPED = 1e-15;
const TRANSFORM_ERROR = 1e-13;
const LEAST_LOGARITHM = -60;
const LARGEST_RATE = 256;
const TILTS = 64;
const SMALL_SIGMA_SQUARED = 0.25;
const CLOSED_FORM_SIGMA_SQUARED = 4;

function inverseSinhHalf(rate) {
  return 2 * Math.exp(-rate / 2) / -Math.expm1(-rate);
}

function gaussianVariance(sigmaSquared) {
  if (sigmaSquared >= CLOSED_FORM_SIGMA_SQUARED) return sigmaSquared;
  let squares = 0;
  let all = 0;
  for (let k = 0; k < 30; k++) {
    const weight = Math.exp(-(k * k) / (2 * sigmaSquared));
    squares += k * k * weight;
    all += weight;
  }
  return Math.max(2 * squares / (2 * all - 1), 1e-110);
}

function partVariance(part) {
  const one = part.rate === undefined
    ? gaussianVariance(part.sigmaSquared)
    : 1 / (2 * Math.sinh(part.rate / 2) ** 2);
  return part.weight ** 2 * part.count * one;
}

function noiseVariance(noise) {
  return noise.parts.reduce((sum, part) => sum + partVariance(part), 0) / noise.divisor ** 2;
}

// A bound of log E exp(tilt weight S); infinite where there is none.
function cumulant(part, tilt) {
  const bent = part.weight * tilt;
  if (part.rate === undefined) return part.count * bent * bent * part.sigmaSquared / 2;
  if (bent >= part.rate) return Infinity;
  const ratio = Math.exp((bent - part.rate) / 2) * Math.expm1(-bent) / Math.expm1(-part.rate);
  return part.count * -Math.log1p(-(ratio ** 2));
}

// The logarithm of E exp(i angle weight S), a real number for a symmetric law.
function characteristicOf(part) {
  if (part.rate !== undefined) {
    const steepness = inverseSinhHalf(part.rate);
    return (angle) => {
      const spread = Math.sin(part.weight * angle / 2) * steepness;
      return -part.count * Math.log1p(spread * spread);
    };
  }
  const { sigmaSquared, weight, count } = part;
  const turns = [];
  const weights = [];
  for (let turn = -6; turn <= 6; turn++) turns.push(2 * Math.PI * turn);
  for (let k = 1; k < 25; k++) weights.push(Math.exp(-(k * k) / (2 * sigmaSquared)));
  const termByTerm = (turned) => weights.reduce((sum, w, i) => sum + 2 * w * Math.cos((i + 1) * turned), 1);
  const poisson = (turned) => turns.reduce((sum, t) => sum + Math.exp(-sigmaSquared * (turned + t) ** 2 / 2), 0);
  const summed = sigmaSquared < SMALL_SIGMA_SQUARED ? termByTerm : poisson;
  const atZero = summed(0);
  return (angle) => {
    const around = weight * angle + Math.PI;
    const turned = around - 2 * Math.PI * Math.floor(around / (2 * Math.PI)) - Math.PI;
    return count * Math.log(Math.max(summed(turned) / atZero, 1e-300));
  };
}

// A whole number that the noise, times its divisor, hardly ever exceeds (Chernoff's bound).
function reachOf(noise) {
  const spread = Math.sqrt(noise.parts.reduce((sum, part) => sum + partVariance(part), 0));
  const rates = noise.parts.filter((part) => part.rate !== undefined).map((part) => part.rate / part.weight);
  const largest = Math.min(...rates, 40 / Math.max(spread, 1e-3));
  let best = Infinity;
  for (let step = 1; step < TILTS; step++) {
    const tilt = largest * step / TILTS;
    const bound = noise.parts.reduce((sum, part) => sum + cumulant(part, tilt), 0) - Math.log(WRAPPED);
    best = Math.min(best, bound / tilt);
  }
  return Math.ceil(best);
}

// About in proportion, with no weight above LARGEST_WEIGHT; the least ones are left out.
function withSmallerWeights(noise) {
  const largest = noise.parts.reduce((most, part) => Math.max(most, part.weight), 0);
  if (largest <= LARGEST_WEIGHT) return noise;
  const parts = new Map();
  for (const part of noise.parts) {
    const weight = Math.floor((2 * LARGEST_WEIGHT * part.weight + largest) / (2 * largest));
    if (!weight) continue;
    const key = `${part.rate} ${part.sigmaSquared} ${weight}`;
    if (!parts.has(key)) parts.set(key, { ...part, weight, count: 0 });
    parts.get(key).count += part.count;
  }
  return { parts: [...parts.values()], divisor: noise.divisor };
}

function narrower(noise, factor) {
  const parts = noise.parts.map((part) => (part.rate === undefined
    ? { ...part, sigmaSquared: part.sigmaSquared / factor ** 2 }
    : { ...part, rate: part.rate * factor }));
  return { parts, divisor: noise.divisor };
}

// The characteristic function where it is not 0, on a grid that the law fits on.
class Law {
  constructor(noise) {
    this.noise = noise;
    this.narrow = withSmallerWeights(noise);
    let reach = reachOf(this.narrow);
    while (reach > LARGEST_GRID / 2 - 1) {
      this.narrow = narrower(this.narrow, Math.max(1.1, 2.1 * reach / LARGEST_GRID));
      reach = reachOf(this.narrow);
    }
    const bits = 32 - Math.clz32(2 * reach + 2);
    this.grid = 2 ** Math.max(6, bits);
    const parts = [...this.narrow.parts].sort((a, b) => partVariance(b) - partVariance(a)).map(characteristicOf);
    const places = [];
    const values = [];
    for (let place = 1; place <= this.grid / 2; place++) {
      const angle = 2 * Math.PI * place / this.grid;
      let logarithm = 0;
      for (const part of parts) {
        logarithm += part(angle);
        if (logarithm <= LEAST_LOGARITHM) break;
      }
      if (logarithm > LEAST_LOGARITHM) {
        places.push(place);
        const twice = place === this.grid / 2 ? 1 : 2;
        values.push(twice * Math.exp(logarithm) / Math.sin(Math.PI * place / this.grid));
      }
    }
    this.places = Float64Array.from(places);
    this.values = Float64Array.from(values);
  }

  // P(|divisor Z| > width) on the grid: 1 less the sum over -width .. width (Dirichlet's kernel).
  beyond(width) {
    const odd = 2 * width + 1;
    const around = 2 * this.grid;
    let within = odd;
    for (let i = 0; i < this.places.length; i++) {
      within += this.values[i] * Math.sin(Math.PI * ((odd * this.places[i]) % around) / this.grid);
    }
    return 1 - within / this.grid;
  }

  // The smallest whole width with P(|divisor Z| > width) <= miss, or a little more.
  halfWidth(miss) {
    let low = 0;
    let high = this.grid / 2 - 1;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (this.beyond(middle) + TRANSFORM_ERROR <= miss) high = middle;
      else low = middle + 1;
    }
    if (this.narrow === this.noise) return low;
    return Math.ceil((low + 1) * Math.sqrt(noiseVariance(this.noise) / noiseVariance(this.narrow)));
  }
}

const MOST_KEPT = 4096;
const keptLaws = new Map();
const keptWidths = new Map();

// Kept values are all dropped when there are too many: any of them can be made again.
function kept(map, key, make) {
  if (!map.has(key)) {
    if (map.size > MOST_KEPT) map.clear();
    map.set(key, make());
  }
  return map.get(key);
}

function halfWidth(noise, miss) {
  if (!noise.parts.length) return 0;
  const key = JSON.stringify(noise);
  return kept(keptWidths, `${key} ${miss}`, () => kept(keptLaws, key, () => new Law(noise)).halfWidth(miss));
}
