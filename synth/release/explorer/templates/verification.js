// What can be checked of a release folder in a browser: its files as the reader hands them over,
// against one another and against the data of this page. No step trusts what a file says of itself.
//
// `files` is a Map of path (as SHA256SUMS writes it) to File. A check yields findings, each a
// sentence; none means that it holds.

const SUMS = "SHA256SUMS";
const MANIFEST = "manifest.json";
const SIGNATURE = "manifest.sig";
const OWN_FILE = "explore.html";
const ROWS_FILE = "synthetic.csv";
const SUM_LINE = /^([0-9a-f]{64}) {2}((?:tables\/)?[A-Za-z0-9._-]{1,255})$/;
const DER_PREFIX = "302a300506032b6570032100";
const KEY_ID_DIGITS = 32;
const MOST_FINDINGS = 5;
const MOST_LINES_KEPT = 1 << 16;
const LARGEST_HASHED = 2 ** 30;

const hexOf = (buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const sha256 = async (bytes) => hexOf(await crypto.subtle.digest("SHA-256", bytes));
const bytesOf = (base64) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

// An exact fraction of whole numbers of any size.
class Fraction {
  constructor(top, bottom = 1n) {
    if (bottom <= 0n) throw new RangeError("no fraction");
    this.top = top;
    this.bottom = bottom;
  }

  // "13/20" or "0.65"
  static of(text) {
    const [whole, rest] = String(text).split("/");
    if (rest !== undefined) return new Fraction(BigInt(whole), BigInt(rest));
    const [digits, decimals = ""] = whole.split(".");
    return new Fraction(BigInt(digits + decimals), 10n ** BigInt(decimals.length));
  }

  plus(other) {
    return new Fraction(this.top * other.bottom + other.top * this.bottom, this.bottom * other.bottom);
  }

  times(other) {
    return new Fraction(this.top * other.top, this.bottom * other.bottom);
  }

  isAbove(other) {
    return this.top * other.bottom > other.top * this.bottom;
  }

  equals(other) {
    return this.top * other.bottom === other.top * this.bottom;
  }
}

const sumOf = (fractions) => fractions.reduce((sum, each) => sum.plus(each), new Fraction(0n));

// The one list of checks, in order: {name, of: (folder) => findings, or a string why it cannot be done}.
const CHECKS = [
  { name: "Every file has the bytes that SHA256SUMS lists, and there is no other", of: checksumFindings },
  { name: "The manifest lists these files, and is about the release of this page", of: manifestFindings },
  { name: "This page is the one of the folder, made from its measurements", of: pageFindings },
  { name: "The signature of the manifest", of: signatureFindings },
  { name: "Domain, impossible combinations and public totals of the manifest are those of this page", of: domainFindings },
  { name: "The noisy tables of this page are those that the manifest lists", of: eventFindings },
  { name: "The tables in the folder have the noisy counts of this page", of: tableFindings },
  { name: "The budget adds up, and is within promise and cap", of: budgetFindings },
  { name: "Rows: declared values only, none impossible, totals met, cell by cell the counts of this page", of: rowFindings },
];

// A folder that is being checked; what the steps learn is kept for the next ones.
class CheckedFolder {
  constructor(files, content, ownData, ownProgram) {
    Object.assign(this, { files, content, ownData, ownProgram });
    this.hashes = new Map();
    this.sums = null;
    this.manifest = null;
  }

  async text(name) {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await this.files.get(name).arrayBuffer());
  }
}

// All checks, one after the other; `told` is called with each result {name, findings, undone}.
async function checkFolder(folder, told) {
  for (const { name, of } of CHECKS) {
    let found;
    try {
      found = await of(folder);
    } catch (error) {
      found = [`cannot be read: ${error.message}`];
    }
    told(typeof found === "string" ? { name, findings: [], undone: found } : { name, findings: found, undone: "" });
  }
}

async function checksumFindings(folder) {
  if (!globalThis.crypto?.subtle) return "this browser computes no SHA-256 for files; `sha256sum --check SHA256SUMS` does";
  if (!folder.files.has(SUMS)) return [`${SUMS}: is missing`];
  const text = await folder.text(SUMS);
  const lines = text.split("\n");
  const parsed = lines.slice(0, -1).map((line) => SUM_LINE.exec(line));
  const names = parsed.map((line) => line?.[2]);
  const isSorted = names.every((name, i) => i === 0 || names[i - 1] < name);
  if (lines.at(-1) !== "" || !names.length || parsed.includes(null) || !isSorted) {
    return [`${SUMS}: is not as synth writes it`];
  }
  folder.sums = new Map(parsed.map(([, hash, name]) => [name, hash]));
  const findings = [];
  const tooLarge = [];
  for (const [name, hash] of folder.sums) {
    if (!folder.files.has(name)) {
      findings.push(`${name}: is missing`);
      continue;
    }
    if (folder.files.get(name).size > LARGEST_HASHED) {
      tooLarge.push(name);
      continue;
    }
    folder.hashes.set(name, await sha256(await folder.files.get(name).arrayBuffer()));
    if (folder.hashes.get(name) !== hash) findings.push(`${name}: its bytes were changed`);
  }
  for (const name of folder.files.keys()) {
    if (name !== SUMS && !folder.sums.has(name)) findings.push(`${name}: does not belong to the release`);
  }
  if (findings.length || !tooLarge.length) return findings;
  return `too large for a browser: ${tooLarge.join(", ")}; of all other files it holds. \`sha256sum --check SHA256SUMS\` checks all`;
}

async function manifestFindings(folder) {
  if (!folder.files.has(MANIFEST)) return [`${MANIFEST}: is missing`];
  const manifest = JSON.parse(await folder.text(MANIFEST));
  folder.manifest = manifest;
  const findings = [];
  if (manifest.identity.release_id !== folder.content.release_id) findings.push(`${MANIFEST}: is about another release`);
  const { number } = manifest.post_processing.rows;
  if (number !== folder.content.rows) findings.push(`${MANIFEST}: states ${number} rows, this page ${folder.content.rows}`);
  const listed = new Map(manifest.files.map((entry) => [entry.path, entry]));
  for (const [path, { bytes, sha256: hash }] of listed) {
    const file = folder.files.get(path);
    if (!file) findings.push(`${path}: is missing`);
    else if (file.size !== bytes || (folder.hashes.has(path) && folder.hashes.get(path) !== hash)) {
      findings.push(`${path}: is not the file that the manifest lists`);
    }
  }
  for (const path of folder.files.keys()) {
    if (!listed.has(path) && ![SUMS, MANIFEST, SIGNATURE].includes(path)) findings.push(`${path}: is not in the manifest's list`);
  }
  return findings;
}

async function pageFindings(folder) {
  if (!folder.files.has(OWN_FILE)) return [`${OWN_FILE}: is missing`];
  const text = await folder.text(OWN_FILE);
  const findings = [];
  if (!text.includes(`>${folder.ownData}<\/script>`)) findings.push(`${OWN_FILE}: holds other data than the page that checks`);
  if (!text.includes(`>${folder.ownProgram}<\/script>`)) findings.push(`${OWN_FILE}: holds other programs than the page that checks`);
  const measured = folder.hashes.get("measurements.parquet");
  if (measured && measured !== folder.content.measurements_sha256) {
    findings.push("measurements.parquet: is not the file that this page was made from");
  }
  return findings;
}

// Ed25519 over the purpose, a line end, and the bytes of the manifest. A point of small order
// signs everything, so no key may be one.
async function signatureFindings(folder) {
  if (!folder.files.has(SIGNATURE)) {
    const stated = folder.manifest?.identity.signature_key_id;
    return stated ? [`${SIGNATURE}: is missing; the manifest names the key ${stated}`] : "the release is not signed";
  }
  const stated = JSON.parse(await folder.text(SIGNATURE));
  const der = bytesOf(stated.public_key);
  const hex = hexOf(der);
  if (hex.length !== 88 || !hex.startsWith(DER_PREFIX) || isSmallOrder(der.slice(12))) {
    return [`${SIGNATURE}: holds no Ed25519 public key`];
  }
  let key;
  try {
    key = await crypto.subtle.importKey("spki", der, "Ed25519", false, ["verify"]);
  } catch {
    return "this browser knows no Ed25519 signatures; `synth verify --key` checks it";
  }
  const keyId = (await sha256(der)).slice(0, KEY_ID_DIGITS);
  const findings = [];
  if (stated.key_id !== keyId) findings.push(`${SIGNATURE}: states another key id than its key has`);
  if (folder.manifest && folder.manifest.identity.signature_key_id !== keyId) {
    findings.push(`${SIGNATURE}: is by another key than the manifest names`);
  }
  const signed = new Blob([`synth manifest 1\n`, folder.files.get(MANIFEST)]);
  const fits = await crypto.subtle.verify("Ed25519", key, bytesOf(stated.signature), await signed.arrayBuffer());
  if (!fits) findings.push(`${SIGNATURE}: does not fit the manifest`);
  folder.keyId = keyId;
  return findings;
}

function isSmallOrder(raw) {
  const field = 2n ** 255n - 19n;
  const littleEndian = (hex) => BigInt(`0x${hex.match(/../g).reverse().join("")}`);
  const ofOrder8 = littleEndian("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05");
  const y = (littleEndian(hexOf(raw)) & (2n ** 255n - 1n)) % field;
  return [0n, 1n, field - 1n, ofOrder8, field - ofOrder8].includes(y);
}

// Labels in place of codes, as the manifest writes a set of cells.
function labelledWhere(columns, where) {
  return Object.fromEntries(where.map(([column, codes]) => [columns[column].name, codes.map((code) => columns[column].labels[code])]));
}

function domainFindings({ manifest, content }) {
  if (!manifest) return "there is no manifest that can be read";
  const { columns, impossible, totals } = content;
  const { domain } = manifest;
  const findings = [];
  if (domain.columns.length !== columns.length) return [`${MANIFEST}: has ${domain.columns.length} columns, this page ${columns.length}`];
  columns.forEach((column, i) => {
    const stated = domain.columns[i];
    const levels = stated.hierarchy.map(({ name, labels, group_of: groupOf }) => ({ name, labels, group_of: groupOf }));
    const own = [column.name, column.title, column.labels, column.levels];
    if (!same([stated.name, stated.title, stated.labels, levels], own)) {
      findings.push(`${MANIFEST}: its column ${i + 1} is not that of this page`);
    }
  });
  const rules = impossible.map((where) => labelledWhere(columns, where));
  if (!same(domain.impossible, rules)) findings.push(`${MANIFEST}: other combinations are impossible than in this page`);
  const known = totals.map(({ where, total, source }) => ({ where: labelledWhere(columns, where), total, source }));
  if (!same(domain.public_totals, known)) findings.push(`${MANIFEST}: its public totals are not those of this page`);
  return findings;
}

function eventFindings({ manifest, content }) {
  if (!manifest) return "there is no manifest that can be read";
  const { events } = manifest.accounting;
  const findings = [];
  if (events.length !== content.measured) findings.push(`${MANIFEST}: lists ${events.length} noisy tables, this page ${content.measured}`);
  for (const table of content.tables) {
    const event = events[table.number];
    const names = table.columns.map((column) => content.columns[column].name);
    const isOurs = event && same([event.table, event.coarsening], [names, table.coarsening]);
    if (!isOurs || event.cells !== table.counts.length || !hasNoise(event, table)) {
      findings.push(`${MANIFEST}: noisy table ${table.number + 1} is not that of this page`);
    }
  }
  return findings;
}

const varianceOf = ({ rate, sigma_squared: sigmaSquared, summed = 1 }) => (
  partVariance({ weight: 1, count: summed, rate, sigmaSquared }));

// Whether an event states the law of noise that the page computes with.
function hasNoise(event, table) {
  const near = (one, other) => Math.abs(one - other) <= 1e-12 * Math.abs(other);
  if (!near(event.variance, varianceOf(table)) || (event.summed ?? 1) !== (table.summed ?? 1)) return false;
  const value = ({ fraction }) => {
    const [top, bottom] = fraction.split("/").map(Number);
    return top / bottom;
  };
  if (table.rate === undefined) return Boolean(event.sigma_squared) && near(value(event.sigma_squared), table.sigma_squared);
  if (!event.epsilon) return false;
  const scale = Fraction.of(event.noise_scale_records.fraction);
  const isScale = scale.times(Fraction.of(event.epsilon.fraction)).equals(new Fraction(BigInt(event.sensitivity)));
  return isScale && near(Math.min(1 / value(event.noise_scale_records), LARGEST_RATE), table.rate);
}

// The files of `tables`: per cell the labels, the noisy count and its standard error.
async function tableFindings(folder) {
  const { columns, tables } = folder.content;
  const entries = (folder.manifest?.files ?? []).filter(({ path }) => path.startsWith("tables/"));
  if (!entries.length) return "the manifest lists none";
  const findings = [];
  for (const { path, event } of entries) {
    const table = tables.find(({ number }) => number === event);
    const file = folder.files.get(path);
    if (!file || !table) continue;
    const labels = table.columns.map((column, i) => (table.coarsening[i]
      ? columns[column].levels.at(-table.coarsening[i]).labels
      : columns[column].labels));
    let cells = [[]];
    for (const each of labels) cells = cells.flatMap((cell) => each.map((label) => [...cell, label]));
    let line = -1;
    for await (const fields of csvRecords(file)) {
      if (line >= 0) {
        const texts = fields.map(unquoted);
        const own = cells[line] && same(texts.slice(0, -2), cells[line]);
        const count = table.counts[line];
        const error = Math.sqrt(varianceOf(table));
        if (!own || (count !== null && texts.at(-2) !== String(count)) || Math.abs(Number(texts.at(-1)) / error - 1) > 1e-4) {
          findings.push(`${path}: line ${line + 2} is not what this page holds`);
          break;
        }
      }
      line += 1;
    }
    if (line !== cells.length && !findings.some((finding) => finding.startsWith(path))) {
      findings.push(`${path}: has ${line} cells, this page ${cells.length}`);
    }
  }
  return findings;
}

function budgetFindings({ manifest }) {
  if (!manifest) return "there is no manifest that can be read";
  const { events, selections, look, total, ledger } = manifest.accounting;
  const of = (budget, which) => Fraction.of(budget[which].fraction);
  const findings = [];
  for (const which of ["epsilon", "delta"]) {
    const promised = Fraction.of(manifest.configuration.privacy[which]);
    if (of(total, which).isAbove(promised)) findings.push(`more ${which} was spent than the configuration promises`);
  }
  const parts = [...events, ...selections, ...(look ? [look] : [])];
  const isPure = parts.every(({ epsilon }) => epsilon) && of(total, "delta").top === 0n;
  if (isPure && look) {
    const spent = Fraction.of(look.epsilon.fraction).plus(of(look.reserved, "epsilon"));
    if (!spent.equals(of(total, "epsilon"))) findings.push("look and reserve do not add up to the total");
    const tables = sumOf(parts.slice(0, -1).map(({ epsilon }) => Fraction.of(epsilon.fraction)));
    if (tables.isAbove(of(look.reserved, "epsilon"))) findings.push("the tables spent more than was reserved for them");
  } else if (isPure && !sumOf(parts.map(({ epsilon, charged = epsilon }) => Fraction.of(charged.fraction))).equals(of(total, "epsilon"))) {
    findings.push("the epsilons of the noisy tables do not add up to the total");
  }
  for (const which of ["epsilon", "delta"]) {
    const [cap, before, now, left] = ["cap", "spent_before", "spent_now", "left"].map((key) => of(ledger[key], which));
    if (!now.equals(of(total, which))) findings.push(`the account states another ${which} than the total`);
    if (before.plus(now).isAbove(cap)) findings.push(`more ${which} was spent than the cap allows`);
    if (!before.plus(now).plus(left).equals(cap)) findings.push(`what was spent and what is left of ${which} do not make up the cap`);
  }
  if (!ledger.earlier_release_ids.length && of(ledger.spent_before, "epsilon").top !== 0n) {
    findings.push("something was spent before, but no earlier release is listed");
  }
  return findings;
}

// ---- the rows ----

const unquoted = (field) => (field.startsWith('"') ? field.slice(1, -1).replaceAll('""', '"') : field);

// The records of a CSV file as lists of fields, quotes and all; a field may hold a line end.
async function* csvRecords(file) {
  for await (const line of csvLines(file)) yield fieldsOf(line);
}

async function* csvLines(file) {
  const reader = file.stream().pipeThrough(new TextDecoderStream("utf-8", { fatal: true, ignoreBOM: true })).getReader();
  let open = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const pieces = (open + value).split("\n");
    open = pieces.pop();
    let record = "";
    for (const piece of pieces) {
      record = record ? `${record}\n${piece}` : piece;
      if (isWhole(record)) {
        yield record;
        record = "";
      }
    }
    if (record) open = `${record}\n${open}`;
  }
  if (open) throw new Error("the last line has no end");
}

const isWhole = (text) => (text.includes('"') ? (text.split('"').length - 1) % 2 === 0 : true);

function fieldsOf(line) {
  if (!line.includes('"')) return line.split(",");
  const fields = [];
  let start = 0;
  let isQuoted = false;
  for (let i = 0; i < line.length; i++) {
    if (line[i] === '"') isQuoted = !isQuoted;
    else if (line[i] === "," && !isQuoted) {
      fields.push(line.slice(start, i));
      start = i + 1;
    }
  }
  return [...fields, line.slice(start)];
}

// What a field of the data file stands for: a code, or -1 for what was never declared.
function reader({ published, missing }, alone) {
  const { texts, bounds, decimals } = published;
  const nothing = (field) => missing !== null && (field === "" || (alone && field === '""' && !texts?.includes("")));
  if (texts) {
    const codes = new Map(texts.map((text, code) => [text, code]));
    return (field) => (nothing(field) ? missing : field === "" ? -1 : codes.get(unquoted(field)) ?? -1);
  }
  const form = decimals ? new RegExp(`^-?\\d+\\.\\d{${decimals}}$`) : /^-?\d+$/;
  return (field) => {
    if (nothing(field)) return missing;
    if (!form.test(field)) return -1;
    const value = Number(field);
    return bounds.findIndex(([low, high]) => low <= value && value <= high);
  };
}

async function rowFindings({ files, content }) {
  if (!files.has(ROWS_FILE)) return "there is no CSV file; what Parquet holds, this page cannot read";
  const { columns, impossible, totals, cells, rows } = content;
  const readers = columns.map((column) => reader(column, columns.length === 1));
  const expected = new Map(cells?.counts.map((count, cell) => [cells.codes.map((of) => of[cell]).join(), count]));
  const isIn = (codes, where) => where.every(([column, taken]) => taken.includes(codes[column]));
  const found = totals.map(() => 0);
  const known = new Map();
  const findings = [];
  let line = 0;
  for await (const text of csvLines(files.get(ROWS_FILE))) {
    line += 1;
    if (line === 1) {
      if (!same(fieldsOf(text).map(unquoted), columns.map(({ name }) => name))) findings.push(`${ROWS_FILE}: its columns are not the declared ones`);
      continue;
    }
    if (!known.has(text)) {
      if (known.size > MOST_LINES_KEPT) known.clear();
      const fields = fieldsOf(text);
      const codes = fields.length === columns.length ? fields.map((field, i) => readers[i](field)) : [-1];
      known.set(text, { codes, key: codes.join(), isImpossible: impossible.some((where) => isIn(codes, where)) });
    }
    const { codes, key, isImpossible } = known.get(text);
    if (codes.includes(-1)) findings.push(`${ROWS_FILE}: line ${line} holds a value that is not declared`);
    else if (isImpossible) findings.push(`${ROWS_FILE}: line ${line} is a combination that cannot occur`);
    if (findings.length >= MOST_FINDINGS) return findings;
    totals.forEach(({ where }, i) => { found[i] += isIn(codes, where) ? 1 : 0; });
    if (cells) expected.set(key, (expected.get(key) ?? 0) - 1);
  }
  totals.forEach(({ total }, i) => {
    if (found[i] !== total) findings.push(`${ROWS_FILE}: ${found[i]} rows where the public total is ${total}`);
  });
  if (line - 1 !== rows) findings.push(`${ROWS_FILE}: ${line - 1} rows, and not ${rows}`);
  const wrong = [...expected.values()].filter((rest) => rest !== 0).length;
  if (wrong) findings.push(`${ROWS_FILE}: ${wrong} combinations of values have another number of rows than this page`);
  return findings;
}
