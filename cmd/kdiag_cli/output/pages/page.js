"use strict";
// Draws the plots of the page, sorts and filters its tables, unfolds what a link leads to.
// Nothing here makes HTML of a text: values are written as text, and Vega draws them as such.
// The page's policy forbids code and styles made at run time, so Vega interprets its expressions
// (`ast`), and its styles are those in page.css.

const PALETTE = ["#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#d4a017",
  "#9d755d", "#8f8f8f", "#ff9da6"];
const CONFIG = {
  background: "transparent",
  font: "system-ui, sans-serif",
  view: { stroke: null },
  axis: { labelColor: "currentColor", titleColor: "currentColor", domainColor: "#8888",
    tickColor: "#8888", gridColor: "#8883", titleFontWeight: "normal", labelLimit: 160 },
  legend: { labelColor: "currentColor", titleColor: "currentColor", title: null, orient: "bottom",
    columns: 3, labelLimit: 220, symbolLimit: 40 },
  range: { category: PALETTE },
  text: { color: "currentColor" },
};
const NARROW = 560;
const overTime = [];

function isNarrow() {
  return document.documentElement.clientWidth < NARROW;
}

function rowsOf(columns) {
  const names = Object.keys(columns);
  const count = names.length ? columns[names[0]].length : 0;
  return Array.from({ length: count }, (_, row) =>
    Object.fromEntries(names.map((name) => [name, columns[name][row]])));
}

// How the axis writes times: as exactly as the plot has them.
function timeFormat(starts) {
  if (!starts || !starts.length) return {};
  const span = starts.reduce((most, each) => Math.max(most, each), -Infinity) -
    starts.reduce((least, each) => Math.min(least, each), Infinity);
  if (span > 86400e3) return { axisXTemporal: { format: "%m-%d %H:%M" } };
  return { axisXTemporal: { format: span > 10e3 ? "%H:%M:%S" : "%H:%M:%S.%L" } };
}

function configOf(columns) {
  const config = { ...CONFIG, ...timeFormat(columns.start) };
  if (!isNarrow()) return config;
  return { ...config,
    axis: { ...CONFIG.axis, labelLimit: 130, labelFontSize: 12, titleFontSize: 12 },
    legend: { ...CONFIG.legend, columns: 1, labelLimit: 300, labelFontSize: 12, titleFontSize: 12 } };
}

// On a narrow page the names below a chart lie aslant: beside each other they would cover one another.
function fitted(drawing) {
  const x = drawing.encoding && drawing.encoding.x;
  if (!isNarrow() || !x || x.type !== "nominal") return drawing;
  const axis = { ...x.axis, labelAngle: -35, labelAlign: "right", labelBaseline: "middle" };
  return { ...drawing, encoding: { ...drawing.encoding, x: { ...x, axis } } };
}

async function draw(figure) {
  const number = figure.id.slice("plot-".length);
  const { drawing, columns } = JSON.parse(document.getElementById(`data-${number}`).textContent);
  const target = figure.querySelector(".drawing");
  const { view } = await vegaEmbed(
    target,
    { ...fitted(drawing), data: { values: rowsOf(columns) }, width: "container",
      autosize: { type: "fit-x", contains: "padding" } },
    { ast: true, renderer: "svg", config: configOf(columns), defaultStyle: false,
      forceActionsMenu: true, tooltip: { theme: "kdiag", disableDefaultStyle: true },
      actions: isNarrow() ? false :
        { export: { svg: true, png: true }, source: false, compiled: false, editor: false } });
  for (const select of figure.querySelectorAll("select")) {
    select.addEventListener("change", () => view.signal(select.dataset.signal, select.value).runAsync());
  }
  figure.dataset.drawn = "yes";
  return view;
}

// Plots over time show the same time: first all that there is, then the zoom of one is that of all.
const shown = { whole: null, isSetting: false };

function timesOf(view) {
  return view.scale("x").domain().map(Number);
}

function watchZoom(view) {
  overTime.push(view);
  view.addSignalListener("zoom_start", (_, times) => {
    if (!shown.isSetting) showTimes(times && times.length === 2 ? times.map(Number) : shown.whole);
  });
}

async function showTimes(times) {
  shown.isSetting = true;
  try {
    await Promise.all(overTime.map((view) => view.signal("zoom_start", times).runAsync()));
  } finally {
    shown.isSetting = false;
  }
}

function zoomBy(view, factor) {
  if (!factor) return showTimes(shown.whole);
  const [first, last] = timesOf(view);
  const middle = (first + last) / 2, half = ((last - first) / 2) * factor;
  return showTimes([middle - half, middle + half]);
}

async function showWhole() {
  if (!overTime.length) return;
  const times = overTime.map(timesOf);
  shown.whole = [Math.min(...times.map(([first]) => first)),
    Math.max(...times.map(([, last]) => last))];
  await showTimes(shown.whole);
}

function valueOf(cell) {
  if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
  const text = cell.textContent;
  return text === "-" ? null : text;
}

function compare(one, other) {
  if (one === null || other === null) return (one === null) - (other === null);
  if (typeof one === "number" && typeof other === "number") return one - other;
  return String(one).localeCompare(String(other), "en", { numeric: true });
}

function sortBy(table, place, header) {
  const isDown = header.getAttribute("aria-sort") === "descending" ||
    (header.getAttribute("aria-sort") === "none" && !header.classList.contains("number"));
  const sign = isDown ? 1 : -1;
  for (const each of table.tHead.rows[0].cells) each.setAttribute("aria-sort", "none");
  header.setAttribute("aria-sort", isDown ? "ascending" : "descending");
  const body = table.tBodies[0];
  const rows = Array.from(body.rows, (row) => [valueOf(row.cells[place]), row]);
  rows.sort(([one], [other]) =>
    one === null || other === null ? compare(one, other) : sign * compare(one, other));
  body.append(...rows.map(([, row]) => row));
}

function filterRows(part, words) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = Array.from(part.querySelectorAll("tbody tr"));
  let found = 0;
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !wanted.every((word) => text.includes(word));
    found += !row.hidden;
  }
  part.querySelector("output").textContent =
    wanted.length ? `${found} of ${rows.length} rows` : "";
}

function wireTables() {
  for (const part of document.querySelectorAll(".table")) {
    const table = part.querySelector("table");
    Array.from(table.tHead.rows[0].cells).forEach((header, place) =>
      header.firstElementChild.addEventListener("click", () => sortBy(table, place, header)));
    part.querySelector("input").addEventListener("input", (event) =>
      filterRows(part, event.target.value));
  }
}

function unfold() {
  const place = location.hash && document.getElementById(location.hash.slice(1));
  if (place && place.tagName === "DETAILS") {
    place.open = true;
    place.scrollIntoView();
  }
}

async function drawAll() {
  for (const figure of document.querySelectorAll(".plot")) {
    const view = await draw(figure);
    if (!figure.classList.contains("over-time")) continue;
    watchZoom(view);
    for (const button of figure.querySelectorAll("[data-zoom]")) {
      button.addEventListener("click", () => zoomBy(view, Number(button.dataset.zoom)));
    }
  }
  await showWhole();
  document.documentElement.dataset.ready = "yes";
}

wireTables();
window.addEventListener("hashchange", unfold);
unfold();
drawAll();
