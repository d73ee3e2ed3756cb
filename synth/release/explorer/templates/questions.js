// A question: conditions (a Map of column to codes, ascending), columns to break it down by, what
// shares are parts of, what answers, and the level of the intervals. As a link, and as the words in which `synth errors` takes it.

const PREFIX = "where.";
const METHODS = { auto: "noisy tables, else replicates", replicates: "replicates" };
const SHARES_OF = { all: "all that are asked for", line: "its line", column: "its column" };

// Conditions as a query: a column of which all codes are taken, or none, restricts nothing.
function queryOf(columns, conditions) {
  return [...conditions]
    .filter(([column, codes]) => codes.length && codes.length < columns[column].labels.length)
    .sort(([a], [b]) => a - b);
}

// The questions that a breakdown consists of, one for every combination of codes that the
// conditions leave: {codes, where, whole}, the last column fastest. Shares are within the whole:
// all that the conditions hold or, with two columns, the line or the column of the cell.
function cellsOf(columns, { conditions, by, sharesOf }) {
  const taken = by.map((column) => {
    const codes = conditions.get(column) ?? [];
    return codes.length ? codes : columns[column].labels.map((_, code) => code);
  });
  let cells = [[]];
  for (const codes of taken) cells = cells.flatMap((cell) => codes.map((code) => [...cell, code]));
  return cells.map((codes) => {
    const narrowed = new Map(conditions);
    const whole = new Map(conditions);
    const kept = { all: -1, line: 0, column: 1 }[sharesOf];
    by.forEach((column, i) => {
      narrowed.set(column, [codes[i]]);
      if (by.length === 2 && i === kept) whole.set(column, [codes[i]]);
    });
    return { codes, where: queryOf(columns, narrowed), whole: queryOf(columns, whole) };
  });
}

// A code as a reader is shown it: its name, and what that means where it is said.
function described({ labels, meanings }, code) {
  return meanings[code] ? `${labels[code]} (${meanings[code]})` : labels[code];
}

function fragmentOf(columns, { conditions, by, level, sharesOf, method }) {
  const found = new URLSearchParams();
  for (const [column, codes] of conditions) {
    for (const code of codes) found.append(PREFIX + columns[column].name, columns[column].labels[code]);
  }
  for (const column of by) found.append("by", columns[column].name);
  if (by.length === 2) found.append("shares", sharesOf);
  if (method !== "auto") found.append("method", method);
  found.append("level", String(level));
  return `#${found}`;
}

const newQuestion = () => ({ conditions: new Map(), by: [], level: 0.95, sharesOf: "all", method: "auto" });

// The question of a fragment, and what in it this release does not know.
function questionOf({ columns, levels, replicates }, fragment) {
  const question = newQuestion();
  const unknown = [];
  const numberOf = (name) => columns.findIndex((column) => column.name === name);
  for (const [key, value] of new URLSearchParams(fragment.replace(/^#/, ""))) {
    const column = numberOf(key === "by" ? value : key.slice(PREFIX.length));
    if (key === "level" && levels.includes(Number(value))) {
      question.level = Number(value);
    } else if (key === "method" && Object.hasOwn(METHODS, value) && (value === "auto" || replicates)) {
      question.method = value;
    } else if (key === "shares" && Object.hasOwn(SHARES_OF, value)) {
      question.sharesOf = value;
    } else if (key === "by" && column >= 0 && question.by.length < 2 && !question.by.includes(column)) {
      question.by.push(column);
    } else if (key.startsWith(PREFIX) && column >= 0 && columns[column].labels.includes(value)) {
      const code = columns[column].labels.indexOf(value);
      const codes = new Set(question.conditions.get(column)).add(code);
      question.conditions.set(column, [...codes].sort((a, b) => a - b));
    } else {
      unknown.push(`${key}=${value}`);
    }
  }
  return { question, unknown };
}

// A name or label as queries spell it: in double quotes where signs would be misread.
function written(text, ordered = false) {
  if (ordered || (text && text.trim() === text && !/[,"={}]/.test(text))) return text;
  return `"${text.replaceAll('"', '""')}"`;
}

function queryText(columns, where) {
  const conditions = where.map(([number, codes]) => {
    const { name, labels, ordered } = columns[number];
    const texts = codes.map((code) => written(labels[code], ordered));
    return texts.length === 1 ? `${written(name)}=${texts[0]}` : `${written(name)} in {${texts.join(", ")}}`;
  });
  return conditions.join(", ") || "all records";
}

// For a shell: in single quotes, a quote inside written as '\''.
function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
