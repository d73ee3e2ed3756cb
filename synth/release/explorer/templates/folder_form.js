// The form that takes a release folder, and what was found in it.

const VERDICTS = { holds: ["\u2713", "holds"], fails: ["\u2717", "fails"], undone: ["\u2013", "not checked here"] };

// Paths inside of the release folder: files that were chosen one by one have none, so those of the
// folder inside are known by their names.
function releasePaths(entries) {
  const found = new Map();
  for (const { path, file } of entries) {
    const isTable = !path.includes("/") && /^[0-9]{3,}-[a-z0-9-]+\.csv$/.test(path);
    found.set(isTable ? `tables/${path}` : path, file);
  }
  return found;
}

const withoutFolder = (path) => path.split("/").slice(1).join("/");

function chosenFiles(input) {
  return [...input.files].map((file) => ({ path: withoutFolder(file.webkitRelativePath) || file.name, file }));
}

// Everything below what was dropped: a folder is the release folder itself.
async function droppedFiles(items) {
  const found = [];
  const walk = async (entry, path) => {
    if (entry.isFile) {
      found.push({ path, file: await new Promise((done, failed) => { entry.file(done, failed); }) });
      return;
    }
    const reader = entry.createReader();
    for (;;) {
      const entries = await new Promise((done, failed) => { reader.readEntries(done, failed); });
      if (!entries.length) return;
      for (const inner of entries) await walk(inner, path ? `${path}/${inner.name}` : inner.name);
    }
  };
  const entries = [...items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
  for (const entry of entries) await walk(entry, entry.isFile ? entry.name : entry.name === "tables" ? "tables" : "");
  return found;
}

async function checkFiles(entries) {
  const program = [...document.scripts].find((script) => !script.type).textContent;
  const folder = new CheckedFolder(releasePaths(entries), content, byId("content").textContent, program);
  byId("checks").replaceChildren();
  byId("verdict").textContent = `Checking ${number.format(entries.length)} files`;
  const results = [];
  await checkFolder(folder, (result) => {
    results.push(result);
    byId("checks").append(checkLine(result, folder));
  });
  const failed = results.filter(({ findings }) => findings.length).length;
  const undone = results.filter((each) => each.undone).length;
  const rest = undone ? ` ${undone} of ${results.length} checks could not be made here.` : "";
  byId("verdict").replaceChildren(element("p", { class: failed ? "warning" : "statement" },
    failed ? `This is not the release as it was published: ${failed} of ${results.length} checks fail.${rest}`
      : `Nothing was found that contradicts the release.${rest}`));
  return results;
}

function checkLine({ name, findings, undone }, folder) {
  const [sign, state] = VERDICTS[undone ? "undone" : findings.length ? "fails" : "holds"];
  const told = undone ? [undone] : findings.slice(0, MOST_FINDINGS);
  if (findings.length > MOST_FINDINGS) told.push(`and ${findings.length - MOST_FINDINGS} more`);
  if (name.startsWith("The signature") && folder.keyId) told.push(`signed with the key ${folder.keyId}: compare that with what the publisher says elsewhere`);
  return element("li", {}, element("span", { class: findings.length ? "warn" : "", "aria-hidden": "true" }, `${sign} `),
    `${name}: `, element("b", {}, state),
    ...(told.length ? [element("ul", {}, ...told.map((text) => element("li", {}, word(text))))] : []));
}

for (const id of ["folder", "files"]) {
  byId(id).addEventListener("click", (event) => { event.target.value = ""; }); // so the same can be chosen again
  byId(id).addEventListener("change", (event) => checkFiles(chosenFiles(event.target)));
}
for (const kind of ["dragover", "drop"]) {
  addEventListener(kind, (event) => event.preventDefault());
}
addEventListener("drop", async (event) => checkFiles(await droppedFiles(event.dataTransfer.items)));
