"use strict";
// Draws the tables that the package computed. Where an element is, what a place holds, colours, bank counts: all are
// looked up here and computed in Python.

const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const state = { doc: null, shape: 0, dtype: "", swizzle: "", colour: "", access: "", page: 0 };

// ---- looking up ----

const variant = () => state.doc.variants[`${state.dtype}|${state.swizzle}`];
const table = () => state.doc.tables[variant().table];
const shape = () => state.doc.shapes[state.shape];
const list = (x) => (Array.isArray(x) ? x : [x]);
const placesOf = (x) => table().held.slice(x * table().per, (x + 1) * table().per);
const elementsAt = (p) => list(table().stored[p]);
const classOf = (p) => table().classes[state.colour][p];
const cellOf = (page, i) => (page.cells ? page.cells[i] : page.first + i);
const pageOf = (p) => table().pages.findIndex((page) =>
  page.cells ? page.cells.includes(p) : p >= page.first && p < page.first + page.rows.length * page.cols.length);

function coordinate(x) {
  const { rows, cols } = shape(), row = rows[Math.floor(x / cols.length)], col = cols[x % cols.length];
  return row === "" ? col : `${row},${col}`;
}
const placeText = (p) => table().axes.map((a, i) => `${a.name} ${table().at[i][p]}`).join(", ");

// ---- markup ----

const escapeText = (s) => String(s).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

function fill(select, options, chosen) {
  select.replaceChildren(...options.map(([value, label]) => {
    const option = new Option(label, value);
    option.selected = String(value) === String(chosen);
    return option;
  }));
  select.disabled = options.length < 2;
}

// A grid of cells: `cell(i)` gives [id, text, class] of the i-th, or null for an empty one.
function drawGrid(grid, prefix, rows, cols, cell) {
  let longest = Math.max(...cols.map((c) => String(c).length));
  const out = [];
  for (let r = 0; r < rows.length; r++) {
    out.push(`<div role="row"><div role="rowheader">${escapeText(rows[r])}</div>`);
    for (let c = 0; c < cols.length; c++) {
      const found = cell(r * cols.length + c);
      if (!found) { out.push('<div role="gridcell" class="empty" aria-label="empty"></div>'); continue; }
      const [id, text, kind] = found;
      longest = Math.max(longest, text.length);
      out.push(`<div role="gridcell" tabindex="-1" id="${prefix}${id}" class="c${kind}">${escapeText(text)}</div>`);
    }
    out.push("</div>");
  }
  const head = cols.map((c) => `<div role="columnheader">${escapeText(c)}</div>`).join("");
  grid.style.setProperty("--w", `calc(${longest}ch + 12px)`);
  grid.style.setProperty("--h", `calc(${Math.max(1, ...rows.map((r) => String(r).length))}ch + 12px)`);
  grid.innerHTML = `<div role="row"><div role="columnheader"></div>${head}</div>${out.join("")}`;
  grid.setAttribute("aria-rowcount", rows.length);
  grid.setAttribute("aria-colcount", cols.length);
  grid.classList.toggle("many", rows.length * cols.length > 4096);
  const first = grid.querySelector("[tabindex]");
  if (first) first.tabIndex = 0;
}

// ---- drawing ----

function draw() {
  const t = table();
  if (!t.axes.some((a) => a.name === state.colour)) state.colour = t.colour;
  state.page = Math.min(state.page, t.pages.length - 1);
  $("text").textContent = t.text;
  $("about").textContent = state.doc.about;
  document.title = `${state.doc.name || t.text} - TIRx layout`;
  drawMenus();
  drawElements();
  drawPlaces();
  drawLegend();
  drawBanks();
  $("detail").textContent = `${t.labels.length} elements, ${t.at.length ? t.at[0].length : 1} places. Point at a cell, or move with the arrow keys.`;
}

function drawMenus() {
  const doc = state.doc, left = data.served ? doc.left_out : [];
  const keys = [...Object.keys(doc.variants).map((k) => k.split("|")), ...left];
  const unique = (values) => [...new Set(values)].map((v) => [v, v]);
  fill($("document"), data.documents.map((d, i) => [i, d.name || d.notation]), data.documents.indexOf(doc));
  fill($("shape"), doc.shapes.map((s, i) => [i, s.name]), state.shape);
  fill($("dtype"), unique(keys.map((k) => k[0])), state.dtype);
  const named = { given: "as written", none: "none" };
  fill($("swizzle"), keys.filter((k) => k[0] === state.dtype).map((k) => [k[1], named[k[1]] || k[1]]), state.swizzle);
  fill($("colour"), table().axes.map((a) => [a.name, a.name]), state.colour);
  $("document-field").hidden = data.documents.length < 2;
  $("left-out").hidden = data.served || !doc.left_out.length;
  const pairs = doc.left_out.map(([dtype, swizzle]) => `${dtype} ${named[swizzle] || swizzle}`);
  $("left-out").textContent = `Left out, because the page would be too large: ${pairs.join(", ")} (tirx layout --serve has them).`;
}

function drawElements() {
  const t = table(), { rows, cols } = shape();
  drawGrid($("elements"), "e", rows, cols, (x) => [x, t.labels[x], classOf(t.held[x * t.per])]);
  // Beside a narrow tile there is room for the notes; a wide one leaves them to the places.
  const main = document.querySelector("main");
  main.classList.toggle("narrow", $("elements").scrollWidth < 0.6 * main.clientWidth);
}

// All pages side by side while they are few and small, else one at a time behind tabs.
const together = () => table().pages.length < 2 || table().pages.length <= 8 && table().pages[0].rows.length * table().pages[0].cols.length * table().pages.length <= 2048;

function drawPlaces() {
  const t = table(), shown = together() ? t.pages : [t.pages[state.page]];
  $("places-axes").textContent = t.rowAxis === t.colAxis
    ? `each cell says which element is there; ${t.colAxis || "one place"}, lines of up to 128 bytes`
    : `each cell says which element is there; ${t.rowAxis} down, ${t.colAxis} across`;
  $("pages").replaceChildren(...(together() ? [] : t.pages.map((p, i) => {
    const tab = Object.assign(document.createElement("button"), { type: "button", textContent: p.label, tabIndex: i === state.page ? 0 : -1 });
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-selected", i === state.page);
    tab.setAttribute("aria-controls", "places");
    return tab;
  })));
  $("places").replaceChildren(...shown.map(drawPage));
  compact();
}

function drawPage(page) {
  const figure = document.createElement("figure"), grid = document.createElement("div");
  grid.className = "grid";
  grid.setAttribute("role", "grid");
  grid.setAttribute("aria-label", page.label ? `Places of ${page.label}` : "Places");
  drawGrid(grid, "p", page.rows, page.cols, (i) => {
    const p = cellOf(page, i);
    return p < 0 ? null : [p, elementsAt(p).map(coordinate).join(" "), classOf(p)];
  });
  if (page.label && together()) figure.append(Object.assign(document.createElement("figcaption"), { textContent: page.label }));
  figure.append(grid);
  return figure;
}

function drawLegend() {
  const t = table();
  $("legend").innerHTML = t.legend[state.colour]
    ? t.legend[state.colour].map(([k, text]) => `<li><span class="c${k}"></span>${escapeText(text)}</li>`).join("") : "";
  $("facts").innerHTML = t.facts.map(([k, v]) => `<dt>${escapeText(k)}</dt><dd>${escapeText(v)}</dd>`).join("");
}

// ---- banks ----

const counts = () => (variant().banks[state.shape] || {});

function drawBanks() {
  const offered = state.doc.accesses.filter(([key]) => key in counts());
  $("banks-section").hidden = !offered.length;
  document.querySelectorAll("#elements [data-lanes]").forEach((c) => delete c.dataset.lanes);
  if (!offered.length) return;
  if (!offered.some(([key]) => key === state.access)) state.access = offered[0][0];
  fill($("access"), offered, state.access);
  const found = counts()[state.access];
  $("banks").innerHTML = found.refused ? "" : found.requests.map(requestMarkup).join("");
  if (found.requests?.length === 1) $("banks").querySelector(".request").remove();
  $("bank-total").textContent = found.refused || found.requests.map(sentence).join("; ");
  if (!found.refused) found.requests.forEach(markLanes);
  const first = $("banks").querySelector(".word");
  if (first) first.tabIndex = 0;
}

const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
const sentence = (r) => `${plural(r.wavefronts, "wavefront")}, ${r.ideal} without conflicts: ${r.conflicts ? plural(r.conflicts, "conflict") : "conflict-free"}`;

function requestMarkup(request, number) {
  const phases = request.phases.map((wavefronts, phase) => {
    const banks = Array.from({ length: 32 }, () => []);
    request.banks.forEach((w) => { if (w.phase === phase) banks[w.bank].push(w); });
    const columns = banks.map((words, bank) => bankMarkup(words, bank, number, phase)).join("");
    return `<div class="phase"><span class="name">phase ${phase}<br>${plural(wavefronts, "wavefront")}</span>${columns}</div>`;
  });
  return `<p class="request">${escapeText(request.name)}, ${request.width} bytes per lane: ${sentence(request)}</p>${phases.join("")}`;
}

const wordText = (bank, w) => `bank ${bank}, word ${w.word}, lanes ${w.lanes.join(", ")}`;

function bankMarkup(words, bank, number, phase) {
  const boxes = words.map((w, n) =>
    `<span class="word c${n ? 3 : 4}" tabindex="-1" role="img" aria-label="${wordText(bank, w)}" title="${wordText(bank, w)}" data-request="${number}" data-lanes-of="${w.lanes.join(" ")}">${w.lanes.join(" ")}</span>`);
  const count = words.length > 1 ? `<b class="bad">&times;${words.length}</b>` : "";
  return `<div data-bank="${bank}" data-phase="${phase}" data-words="${words.length}"><b>${bank}</b>${boxes.join("")}${count}</div>`;
}

function markLanes(request) {
  request.lanes.forEach((elements, lane) => elements.forEach((x) => {
    const cell = $(`e${x}`);
    if (cell) cell.dataset.lanes = cell.dataset.lanes ? `${cell.dataset.lanes} ${lane}` : lane;
  }));
}

// ---- pointing ----

function clearMarks() {
  document.querySelectorAll(".here, .there").forEach((c) => c.classList.remove("here", "there"));
}

function mark(elements, places, here) {
  clearMarks();
  elements.forEach((x) => $(`e${x}`)?.classList.add(here === "e" ? "here" : "there"));
  places.forEach((p) => $(`p${p}`)?.classList.add(here === "p" ? "here" : "there"));
  const pages = new Set(places.map(pageOf));
  [...$("pages").children].forEach((tab, i) => tab.classList.toggle("there", pages.has(i)));
}

function point(cell) {
  const kind = cell.id[0], n = Number(cell.id.slice(1));
  const elements = kind === "e" ? [n] : elementsAt(n), places = kind === "e" ? placesOf(n) : [n];
  mark(elements, places, kind);
  const coordinates = elements.map((x) => `(${coordinate(x).replaceAll(",", ", ")})`).join(", ");
  const lanes = kind === "e" && cell.dataset.lanes !== undefined ? `; touched by lane ${cell.dataset.lanes}` : "";
  $("detail").textContent = kind === "e"
    ? `element ${coordinates} is at ${places.map(placeText).join("; and at ")}${lanes}`
    : `place ${placeText(n)} holds element ${coordinates}`;
  cell.setAttribute("aria-label", $("detail").textContent);
}

function pointAtWord(event) {
  const word = event.target.closest("[data-lanes-of]");
  if (!word) return;
  const request = counts()[state.access].requests[Number(word.dataset.request)];
  const lanes = word.dataset.lanesOf.split(" ").map(Number), elements = lanes.flatMap((k) => request.lanes[k]);
  mark(elements, elements.flatMap(placesOf), "e");
  $("detail").textContent = `${word.title}: ${elements.map((x) => `(${coordinate(x).replaceAll(",", ", ")})`).join(", ")}`;
}

const cellUnder = (event) => event.target.closest?.('[role=gridcell][tabindex]');

function rest() {
  const focused = document.activeElement?.closest?.('[role=gridcell][tabindex]');
  if (focused) point(focused); else clearMarks();
}

// ---- keys ----

function focusCell(cell) {
  if (!cell) return;
  cell.closest(".grid").querySelectorAll('[tabindex="0"]').forEach((c) => { c.tabIndex = -1; });
  cell.tabIndex = 0;
  point(cell);
  cell.focus({ preventScroll: true });
  cell.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function step(cell, down, right) {
  const row = cell.parentElement, rows = [...row.parentElement.children];
  const r = rows.indexOf(row), c = [...row.children].indexOf(cell);
  const clamp = (v, high) => Math.max(1, Math.min(v, high));
  let to = rows[clamp(r + down, rows.length - 1)].children[clamp(c + right, row.children.length - 1)];
  for (let n = 2; !to.hasAttribute("tabindex") && n < rows.length + row.children.length; n++) {
    const next = rows[clamp(r + n * Math.sign(down), rows.length - 1)].children[clamp(c + n * Math.sign(right), row.children.length - 1)];
    to = next;
  }
  return to.hasAttribute("tabindex") ? to : cell;
}

const FAR = 1e6;
const MOVES = {
  ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
  PageUp: [-8, 0], PageDown: [8, 0], Home: [0, -FAR], End: [0, FAR],
};

function keyInGrid(event) {
  const cell = cellUnder(event);
  if (!cell || event.altKey || event.metaKey) return;
  const far = event.ctrlKey && (event.key === "Home" || event.key === "End");
  const move = far ? [event.key === "Home" ? -FAR : FAR, event.key === "Home" ? -FAR : FAR] : MOVES[event.key];
  if (move) focusCell(step(cell, ...move));
  else if (event.key === "Enter" || event.key === " ") follow(cell);
  else if (event.key === "Escape") { cell.blur(); clearMarks(); }
  else return;
  event.preventDefault();
}

// Words of the bank view, bank after bank: one tab stop for all.
function keyInBanks(event) {
  const words = [...$("banks").querySelectorAll(".word")], at = words.indexOf(event.target);
  const to = { ArrowRight: at + 1, ArrowUp: at + 1, ArrowLeft: at - 1, ArrowDown: at - 1, Home: 0, End: words.length - 1 }[event.key];
  if (at < 0 || !words[to]) return;
  event.preventDefault();
  words[at].tabIndex = -1;
  words[to].tabIndex = 0;
  words[to].focus();
}

// From an element to its first place, from a place to its first element.
function follow(cell) {
  const n = Number(cell.id.slice(1));
  if (cell.id[0] === "p") return focusCell($(`e${elementsAt(n)[0]}`));
  const place = placesOf(n)[0];
  showPage(pageOf(place));
  focusCell($(`p${place}`));
}

function showPage(number) {
  if (number === state.page || together()) return;
  state.page = number;
  drawPlaces();
}

function keyInTabs(event) {
  const tabs = [...$("pages").children], at = tabs.indexOf(event.target);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (at < 0 || to === undefined) return;
  event.preventDefault();
  showPage((to + tabs.length) % tabs.length);
  $("pages").children[state.page].focus();
}

// ---- choices ----

function open(doc) {
  Object.assign(state, { doc, shape: 0, dtype: doc.dtype, swizzle: doc.swizzle, colour: "", access: doc.access, page: 0 });
  const wide = doc.shapes[0].cols.length * table().labels.at(-1).length > 420;
  $("cells").value = wide ? "compact" : "labels";
  $("notation").value = doc.notation;
  $("other").value = "";
  $("lanes").value = "";
  compact();
  draw();
}

function compact() {
  document.querySelectorAll(".grid").forEach((grid) => grid.classList.toggle("compact", $("cells").value === "compact"));
}

function chosen(id, value) {
  if (id === "document") return open(data.documents[Number(value)]);
  if (id === "cells") return compact();
  state[id] = id === "shape" ? Number(value) : value;
  if (!variant() && data.served) return ask();
  if (!variant()) state.swizzle = Object.keys(state.doc.variants).find((k) => k.startsWith(`${state.dtype}|`)).split("|")[1];
  if (id === "access") return drawBanks();
  return draw();
}

// ---- free editing, with a server ----

let latest = 0;

async function ask() {
  const asked = ++latest;
  const query = new URLSearchParams({ layout: $("notation").value, shape: $("other").value || shape().name.replaceAll(" x ", ","),
    dtype: state.dtype, swizzle: state.swizzle, access: $("lanes").value });
  if ($("notation").value !== state.doc.notation && !$("other").value) query.delete("shape");
  let answer;
  try {
    answer = await (await fetch(`tables?${query}`)).json();
  } catch (e) {
    answer = { error: `the server does not answer (${e.message})` };
  }
  if (asked !== latest) return;
  $("error").hidden = !answer.error;
  $("error").textContent = answer.error || "";
  $("notation").setAttribute("aria-invalid", Boolean(answer.error));
  if (answer.error) return;
  const kept = { notation: $("notation").value, other: $("other").value, lanes: $("lanes").value };
  const access = $("lanes").value || state.access;
  data.documents[0] = answer.document;
  open(answer.document);
  if (access in counts()) chosen("access", access);
  for (const [id, value] of Object.entries(kept)) $(id).value = value;
}

function prepareEditing() {
  for (const id of ["notation", "other", "lanes"]) $(id).disabled = !data.served;
  $("other-field").hidden = $("lanes-field").hidden = !data.served;
  const command = "tirx layout '\u2026' --serve";
  $("notation-note").innerHTML = data.served
    ? "Edit the notation, the shape or the layout of lanes and press Enter: the package on this machine computes the tables."
    : `This saved page holds the choices below. To edit the notation, have the page served: <code>${command}</code>`;
  if (!data.served) return;
  for (const id of ["notation", "other", "lanes"]) $(id).addEventListener("change", ask);
}

// ---- start ----

for (const grid of [$("elements"), $("places")]) {
  grid.addEventListener("pointerover", (e) => { const cell = cellUnder(e); if (cell) point(cell); });
  grid.addEventListener("pointerleave", rest);
  grid.addEventListener("click", (e) => { const cell = cellUnder(e); if (cell) focusCell(cell); });
  grid.addEventListener("focusin", (e) => { const cell = cellUnder(e); if (cell) point(cell); });
  grid.addEventListener("keydown", keyInGrid);
}
$("pages").addEventListener("click", (e) => { const i = [...$("pages").children].indexOf(e.target); if (i >= 0) { showPage(i); $("pages").children[i].focus(); } });
$("pages").addEventListener("keydown", keyInTabs);
$("banks").addEventListener("pointerover", pointAtWord);
$("banks").addEventListener("focusin", pointAtWord);
$("banks").addEventListener("keydown", keyInBanks);
$("banks").addEventListener("pointerleave", rest);
for (const id of ["document", "shape", "dtype", "swizzle", "colour", "cells", "access"]) {
  $(id).addEventListener("change", (e) => chosen(id, e.target.value));
}
$("controls").addEventListener("submit", (e) => e.preventDefault());
prepareEditing();
open(data.documents[0]);
