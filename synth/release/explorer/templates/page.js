// The page: a form that holds the question, and the answer to it. Every label is put in as text.

const content = JSON.parse(document.getElementById("content").textContent);
const { columns } = content;
const answers = new Answers(content);

const MOST_CELLS = 1000;
const AT_ONCE_MS = 40;
const FEW_LABELS = 12;
const COMMAND_LINE_END = " \\\n  ";

const byId = (id) => document.getElementById(id);
const number = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const exact = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

// An element with attributes and children; texts among these stay texts.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (typeof value === "boolean") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// A name or label inside of a sentence: whatever its direction, it does not turn the words around.
const word = (text) => element("bdi", {}, printable(text));

// Characters that would steer the text around them are shown as what they are: out of place.
function printable(text) {
  return text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "\ufffd");
}

const nameOf = (column) => columns[column].title || columns[column].name;
const options = (texts, chosen) => texts.map(([value, text]) => element("option", { value, selected: value === chosen }, printable(text)));

// ---- the question ----

let question = newQuestion();

function freeColumns(own) {
  return columns.map((_, i) => i).filter((i) => i === own || !question.conditions.has(i));
}

function showQuestion() {
  byId("conditions").replaceChildren(...[...question.conditions.keys()].map(conditionForm));
  byId("add").disabled = freeColumns().length === 0;
  const named = columns.map((_, i) => [String(i), nameOf(i)]);
  const [first, second] = question.by;
  byId("by-first").replaceChildren(...options([["", "nothing"], ...named], String(first ?? "")));
  byId("by-second").replaceChildren(
    ...options([["", "nothing"], ...named.filter(([value]) => value !== String(first))], String(second ?? "")),
  );
  byId("by-second").disabled = first === undefined;
  byId("shares-of").replaceChildren(...options(Object.entries(SHARES_OF), question.sharesOf));
  byId("shares-of").disabled = second === undefined;
  byId("method").replaceChildren(...options(Object.entries(METHODS), question.method));
  byId("method").parentElement.hidden = !content.replicates;
  byId("level").replaceChildren(...options(content.levels.map((level) => [String(level), `${exact.format(100 * level)} %`]), String(question.level)));
}

// The conditions in the order in which they were made, one of them with another column.
function moveCondition(from, to) {
  const moved = [...question.conditions].map(([column, codes]) => (column === from ? [to, []] : [column, codes]));
  change({ conditions: new Map(moved) }, `column-${to}`);
}

function setCodes(column, codes, focus) {
  const conditions = new Map(question.conditions).set(column, [...codes].sort((a, b) => a - b));
  change({ conditions }, focus);
}

function conditionForm(column) {
  const chosen = new Set(question.conditions.get(column));
  const { labels, levels, ordered, missing } = columns[column];
  const choice = element("select", { id: `column-${column}`, onchange: (event) => moveCondition(column, Number(event.target.value)) },
    ...options(freeColumns(column).map((i) => [String(i), nameOf(i)]), String(column)));
  const remove = element("button", { type: "button", onclick: () => {
    const conditions = new Map(question.conditions);
    conditions.delete(column);
    change({ conditions }, "add");
  } }, "Remove");
  const boxes = labels.map((_, code) => element("label", { class: "level" },
    element("input", { type: "checkbox", id: `level-${column}-${code}`, checked: chosen.has(code), onchange: (event) => {
      if (event.target.checked) chosen.add(code);
      else chosen.delete(code);
      setCodes(column, chosen, event.target.id);
    } }),
    word(described(columns[column], code))));
  const quick = [];
  if (levels.length) {
    const groups = levels.flatMap((level, l) => level.labels.map((label, group) => [`${l} ${group}`, `${level.name}: ${label}`]));
    quick.push(element("label", {}, "A group ", element("select", { id: `group-${column}`, onchange: (event) => {
      if (!event.target.value) return;
      const [l, group] = event.target.value.split(" ").map(Number);
      setCodes(column, labels.map((_, code) => code).filter((code) => levels[l].group_of[code] === group), event.target.id);
    } }, ...options([["", "choose"], ...groups], ""))));
  }
  const bins = labels.map((_, code) => code).filter((code) => code !== missing);
  if (ordered && bins.length > FEW_LABELS) {
    const chosenBins = bins.filter((code) => chosen.has(code));
    const ends = [chosenBins[0], chosenBins.at(-1)];
    const range = (end) => element("select", { id: `end-${column}-${end}`, onchange: (event) => {
      if (!event.target.value) return;
      const other = ends[1 - end] ?? Number(event.target.value);
      const [low, high] = [Number(event.target.value), other].sort((a, b) => a - b);
      setCodes(column, bins.filter((code) => low <= code && code <= high), event.target.id);
    } }, ...options([["", "choose"], ...bins.map((code) => [String(code), labels[code]])], String(ends[end])));
    quick.push(element("label", {}, "from ", range(0)), element("label", {}, "to ", range(1)));
  }
  return element("fieldset", { class: "condition" },
    element("legend", { class: "unseen" }, "Condition on ", word(nameOf(column))),
    element("div", { class: "choices" }, element("label", {}, "Column ", choice), ...quick, remove),
    element("div", { class: "levels", role: "group", "aria-label": `values of ${printable(nameOf(column))}` }, ...boxes),
    ...(chosen.size ? [] : [element("p", { class: "soft" }, "Nothing is chosen yet, so this restricts nothing.")]));
}

function change(part, focus) {
  question = { ...question, ...part };
  history.replaceState(null, "", fragmentOf(columns, question));
  showQuestion();
  if (focus) byId(focus)?.focus();
  showAnswer([]);
}

byId("add").addEventListener("click", () => {
  const [column] = freeColumns();
  change({ conditions: new Map(question.conditions).set(column, []) }, `column-${column}`);
});
byId("question").addEventListener("submit", (event) => event.preventDefault());
byId("level").addEventListener("change", (event) => change({ level: Number(event.target.value) }, "level"));
byId("method").addEventListener("change", (event) => change({ method: event.target.value }, "method"));
byId("shares-of").addEventListener("change", (event) => change({ sharesOf: event.target.value }, "shares-of"));
for (const place of [0, 1]) {
  const id = place ? "by-second" : "by-first";
  byId(id).addEventListener("change", (event) => {
    const by = question.by.slice(0, place);
    if (event.target.value) by.push(Number(event.target.value));
    if (!place && by.length && question.by[1] !== undefined && question.by[1] !== by[0]) by.push(question.by[1]);
    change({ by }, id);
  });
}

// ---- the answer ----

let lines = [];
let asked = 0;

async function showAnswer(unknown) {
  asked += 1;
  const own = asked;
  const cells = question.by.length ? cellsOf(columns, question) : [];
  const all = [{ codes: [], where: queryOf(columns, question.conditions), whole: [] }, ...cells];
  byId("link").value = location.href.split("#")[0] + fragmentOf(columns, question);
  const told = (cells.length ? cells : all).slice(0, FEW_LABELS).map(({ where }) => `--query ${quoted(queryText(columns, where))}`);
  byId("command").textContent = printable(["synth errors .", ...told, ...(question.method === "auto" ? [] : [`--method ${question.method}`]), `--level ${question.level}`].join(COMMAND_LINE_END));
  if (cells.length > MOST_CELLS) {
    show([], [`A table of ${number.format(cells.length)} cells is too large to be shown here; choose columns with fewer values, or add conditions.`]);
    return;
  }
  const found = [];
  let started = performance.now();
  for (const cell of all) {
    if (performance.now() - started > AT_ONCE_MS) {
      byId("sentence").textContent = `Computing: ${found.length} of ${all.length}`;
      await new Promise((resolve) => { setTimeout(resolve); });
      if (own !== asked) return;
      started = performance.now();
    }
    const { level, method } = question;
    const share = answers.share(cell.where, cell.whole, level, method);
    found.push({ ...cell, answer: answers.answer(cell.where, level, method), share });
  }
  show(found, unknown.map((text) => `The link asks for something that this release does not have: ${printable(text)}`));
}

function show([whole, ...cells], notes) {
  lines = cells.length ? cells : whole ? [whole] : [];
  byId("sentence").replaceChildren(...(whole ? sentence(whole) : []));
  const [down, across] = question.by;
  byId("crosstab").replaceChildren(...(across !== undefined && cells.length ? [crosstab(down, across, cells)] : []));
  const list = cells.length ? [barTable(question.by, cells)] : [];
  byId("chart").replaceChildren(...(across === undefined || !cells.length ? list : [
    element("details", {}, element("summary", {}, "The same as a list with bars"), ...list)]));
  byId("notes").replaceChildren(...[...notes, ...remarks(lines)].map((text) => element("li", {}, text)));
  byId("download").disabled = !lines.length;
}

const rounded = (value) => number.format(value).replace(/^-0$/, "0").replace("-", "\u2212");
const intervalText = ({ low, high }) => `${number.format(low)} to ${number.format(high)}`;
const tenths = (value) => (value * 100).toFixed(1).replace(/^-0\.0$/, "0.0").replace("-", "\u2212");
const percent = (share) => (share === null ? "?" : `${tenths(share)} %`);
const shareText = ({ low, high }) => `${tenths(Math.floor(1000 * low) / 1000)} to ${tenths(Math.ceil(1000 * high) / 1000)} %`;
const isOutside = (answer) => answer.published !== null && (answer.published < answer.low || answer.published > answer.high);

function sentence({ where, answer, share }) {
  const conditions = where.flatMap(([column, codes], i) => [
    i ? "; " : "", word(nameOf(column)), " is ",
    ...codes.flatMap((code, j) => [j ? " or " : "", word(described(columns[column], code))])]);
  const about = where.length ? ["Records for which ", ...conditions] : ["All records"];
  const rows = answer.published === null ? "" : ` The synthetic table has ${number.format(answer.published)} such rows.`;
  if (!answer.method) {
    return [element("p", {}, ...about, ": no noisy table answers this.", rows)];
  }
  return [
    element("p", { class: "figure" }, element("strong", {}, rounded(answer.estimate)),
      ` between ${number.format(answer.low)} and ${number.format(answer.high)}`),
    element("p", {}, ...about, `: about ${rounded(answer.estimate)}, and with ${exact.format(100 * question.level)} % confidence between ${number.format(answer.low)} and ${number.format(answer.high)} (standard error ${exact.format(answer.sd)}).`,
      where.length && share ? ` That is ${percent(share.estimate)} of all records (${shareText(share)}).` : "", rows)];
}

function remarks(shown) {
  const found = [];
  const answered = shown.filter(({ answer }) => answer.method);
  if (answered.length < shown.length) {
    found.push("No sum over one noisy table answers some of this: no measured table holds these columns together, or not finely enough.");
  }
  if (answered.some(({ answer }) => answer.method === "replicates")) {
    found.push("Answers from replicates are counts of the synthetic rows. Their intervals hold about as often as stated on average over questions, without a promise for one of them.");
  }
  if (answered.some(({ answer }) => isOutside(answer))) {
    found.push("Numbers of rows that are marked lie outside of their interval.");
  }
  if (content.tables.length < content.answering) {
    found.push(`Of ${number.format(content.answering)} noisy tables ${number.format(content.tables.length)} are in this page, those of the fewest columns; the others are too large. So intervals here can be wider than those of the program.`);
  }
  if (!content.cells) found.push("The synthetic table is too large to be in this page; its rows are not counted here.");
  return found;
}

// A bar for every line, with a mark for its interval.
function barTable(by, cells) {
  const answered = cells.filter(({ answer }) => answer.method);
  const longest = Math.max(1, ...answered.map(({ answer }) => Math.max(answer.high, answer.estimate)));
  const head = element("tr", {}, ...by.map((column) => element("th", { scope: "col" }, word(nameOf(column)))),
    element("td", {}), ...["estimate", "interval", "share", "interval", "rows"].map((text) => element("th", { scope: "col", class: "number" }, text)));
  const body = cells.map(({ codes, answer, share }) => element("tr", {},
    ...by.map((column, i) => element("th", { scope: "row" }, word(described(columns[column], codes[i])))),
    element("td", {}, answer.method ? bar(answer, longest) : ""),
    ...(answer.method
      ? [element("td", { class: "number" }, rounded(answer.estimate)), element("td", { class: "number ends" }, intervalText(answer)),
        ...(share ? [element("td", { class: "number" }, percent(share.estimate)), element("td", { class: "number ends" }, shareText(share))]
          : [element("td", { class: "number", colspan: "2" }, "no table answers")])]
      : [element("td", { class: "number", colspan: "4" }, "no table answers")]),
    rowsCell(answer)));
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": "bars-caption" }, element("table", { class: "bars" },
    element("caption", { id: "bars-caption" }, `Records; the mark on a bar is the ${exact.format(100 * question.level)} % interval`),
    element("thead", {}, head), element("tbody", {}, ...body)));
}

function rowsCell(answer) {
  const text = answer.published === null ? "" : number.format(answer.published);
  return element("td", { class: "number" }, isOutside(answer) ? element("span", { class: "warn", title: "outside of the interval" }, `${text} *`) : text);
}

function drawn(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function bar({ estimate, low, high }, longest) {
  const along = (value) => (100 * Math.max(0, value) / longest).toFixed(2);
  return drawn("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" },
    drawn("path", { class: "rail", d: "M0 0V10" }),
    drawn("rect", { class: "fill", y: 1, width: along(estimate), height: 8 }),
    drawn("path", { class: "mark", d: `M${along(low)} 5H${along(high)}M${along(low)} 2V8M${along(high)} 2V8` }));
}

function crosstab(down, across, cells) {
  const heads = [...new Set(cells.map(({ codes }) => codes[1]))];
  const sides = [...new Set(cells.map(({ codes }) => codes[0]))];
  const body = sides.map((code, line) => {
    const own = cells.slice(line * heads.length, (line + 1) * heads.length);
    return element("tr", {}, element("th", { scope: "row" }, word(described(columns[down], code))), ...own.map(({ answer, share }) => {
      if (!answer.method) return element("td", { class: "unknown" }, "no table");
      const shade = Math.min(9, Math.floor(10 * Math.max(0, share?.estimate ?? 0)));
      const parts = share ? [element("br"), element("span", { class: "ends" }, `${percent(share.estimate)}: ${shareText(share)}`)] : [];
      return element("td", { class: `h${shade}` }, rounded(answer.estimate), element("br"), element("span", { class: "ends" }, intervalText(answer)), ...parts);
    }));
  });
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": "crosstab-caption" }, element("table", { class: "crosstab" },
    element("caption", { id: "crosstab-caption" }, word(nameOf(down)), " by ", word(nameOf(across)), `: records, their ${exact.format(100 * question.level)} % interval, and shares of ${SHARES_OF[question.sharesOf]} with theirs. A darker colour is a larger share.`),
    element("thead", {}, element("tr", {}, element("td", {}), ...heads.map((code) => element("th", { scope: "col" }, word(described(columns[across], code)))))),
    element("tbody", {}, ...body)));
}

// ---- taking it along ----

byId("download").addEventListener("click", () => {
  const file = URL.createObjectURL(new Blob([csvOf(columns, question.by, lines)], { type: "text/csv" }));
  element("a", { href: file, download: "answer.csv" }).click();
  URL.revokeObjectURL(file);
});
byId("copy").addEventListener("click", async () => {
  byId("link").select();
  try {
    await navigator.clipboard.writeText(byId("link").value);
    byId("copy").textContent = "Copied";
  } catch {
    byId("copy").textContent = "Copy it from the field";
  }
  setTimeout(() => { byId("copy").textContent = "Copy the link"; }, 2000);
});

function readLink() {
  const read = questionOf(content, location.hash);
  question = read.question;
  showQuestion();
  showAnswer(read.unknown);
}

addEventListener("hashchange", readLink);
readLink();
