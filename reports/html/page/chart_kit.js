// SPDX-License-Identifier: Apache-2.0
// What every chart needs: colours, units, a legend of buttons, a tip, drawing when it comes into view.

const palettes = {
  light: ["#2166d1", "#d9600a", "#15884b", "#b42b5b", "#7548c4", "#00838f", "#8a6d00", "#5d6775"],
  dark: ["#74adff", "#ff9d52", "#56cf8d", "#ff7fa6", "#b79bff", "#4ccfda", "#d9bd4e", "#a9b4c4"],
};
const dashes = ["solid", "dashed", "dotted"];

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}
const colorOf = (index) => palettes[isDark() ? "dark" : "light"][index % palettes.light.length];
const cssColor = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

const digits = (value) => Number(value.toPrecision(3)).toString();
/** 4.32 µs */
function timeText(ns) {
  if (ns === 0) return "0";
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]])
    if (ns >= size) return `${digits(ns / size)} ${unit}`;
  return `${digits(ns)} ns`;
}
/** 64, 4K, 1M: as --size takes them */
function sizeText(bytes) {
  for (const [unit, size] of [["G", 2 ** 30], ["M", 2 ** 20], ["K", 2 ** 10]])
    if (bytes >= size && bytes % (size / 4) === 0) return `${bytes / size}${unit}`;
  return `${bytes}`;
}
/** 92.4 Gb/s, 31.2 Mb/s; 0.65 Mmsg/s is 650 kmsg/s */
function rateText(value, unit) {
  if (value === 0) return "0";
  const of = unit.slice(1); // both units begin with a prefix: G, M
  const prefixes = ["", "k", "M", "G"];
  let at = prefixes.indexOf(unit[0]);
  while (at > 0 && value > 0 && value < 1) [value, at] = [value * 1000, at - 1];
  return `${digits(value)} ${prefixes[at]}${of}`;
}
/** 20 k/s */
const perSecond = (rate) => (rate >= 1e6 ? `${digits(rate / 1e6)} M/s` : rate >= 1e3 ? `${digits(rate / 1e3)} k/s` : `${digits(rate)} /s`);
/** 1.5 MiB */
function bytesText(bytes) {
  for (const [unit, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]])
    if (bytes >= size) return `${digits(bytes / size)} ${unit}`;
  return `${digits(bytes)} B`;
}
function valueText(value, unit) {
  if (unit === "bytes") return bytesText(value);
  if (unit === "ns") return timeText(value);
  if (unit === "B") return `${sizeText(value)} B`;
  if (unit === "1/s" || unit === "msg/s") return perSecond(value);
  if (!unit) return String(value); // a parameter, which is no measured number
  return unit.endsWith("/s") ? rateText(value, unit) : `${digits(value)} ${unit}`.trim();
}

/** Round values from low to high on a logarithmic axis: 1, 2, 5, 10... or powers of ten alone. */
function logTicks(low, high, unit) {
  if (unit === "bytes") return powersOfTwo(low, high, 6);
  const decades = Math.log10(high / low);
  const steps = decades > 4 ? [1] : decades > 2.5 ? [1, 3] : decades > 1 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 8];
  const ticks = [];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10)
    ticks.push(...steps.map((step) => Number((step * power).toPrecision(6))).filter((tick) => tick >= low && tick <= high));
  return ticks;
}

/** At most so many, evenly spread. */
function powersOfTwo(low, high, most) {
  const first = Math.ceil(Math.log2(low) - 1e-9), last = Math.floor(Math.log2(high) + 1e-9);
  const step = Math.max(1, Math.ceil((last - first + 1) / most));
  return Array.from({ length: Math.max(0, Math.floor((last - first) / step) + 1) }, (_, i) => 2 ** (first + i * step));
}

function axis(name, labelOf, more = {}) {
  const { ticks, ...rest } = more;
  return {
    name, nameLocation: "middle", nameGap: 30,
    nameTextStyle: { color: cssColor("--quiet") },
    axisLine: { lineStyle: { color: cssColor("--line") } },
    axisTick: { show: false, ...(ticks && { customValues: ticks }) },
    axisLabel: { color: cssColor("--quiet"), formatter: labelOf, hideOverlap: true, ...(ticks && { customValues: ticks }) },
    splitLine: { show: true, lineStyle: { color: cssColor("--grid") }, ...(ticks && { customValues: ticks }) },
    minorTick: { show: false }, minorSplitLine: { show: false },
    ...rest,
  };
}

/** A vertical axis has its name above it, where it can be read. */
function verticalAxis(name, labelOf, more = {}) {
  const made = axis(name, labelOf, more);
  return { ...made, nameLocation: "end", nameGap: 15, nameTextStyle: { ...made.nameTextStyle, align: "left", padding: [0, 0, 0, -68] } };
}

function legendKey({ color, dash }) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  for (const [key, value] of Object.entries({ width: 22, height: 10 })) svg.setAttribute(key, value);
  const pattern = { solid: "", dashed: "6 3", dotted: "2 3" }[dash ?? "solid"];
  for (const [key, value] of Object.entries({ d: "M0 5H22", stroke: color, "stroke-width": 3, "stroke-dasharray": pattern }))
    line.setAttribute(key, value);
  svg.append(line);
  return svg;
}

/** What a tip says, as elements: no text of a result becomes markup. */
function tip(title, lines) {
  const rows = lines.map(({ color, name, text }) => {
    const dot = element("i");
    dot.style.background = color;
    return element("tr", {}, element("td", {}, dot, name), element("td", {}, text));
  });
  return element("div", { className: "tip" }, element("b", {}, title), element("table", {}, element("tbody", {}, ...rows)));
}

/**
 * A figure that is drawn once it comes into view, and whenever something changes from then on.
 * @param build  () => ({option, series}); a series has `name`, `color`, `dash`; those of one name
 *               are hidden and shown together
 */
function chart(id, build) {
  const figure = document.getElementById(id);
  const plot = figure.querySelector(".plot");
  const legend = figure.querySelector(".legend");
  const hidden = new Set();
  let instance = null;

  function drawLegend(series) {
    const entries = new Map();
    for (const one of series) if (!entries.has(one.name)) entries.set(one.name, one);
    const focused = [...legend.children].indexOf(document.activeElement);
    legend.replaceChildren(...[...entries.values()].map((entry) => {
      const button = element("button", { type: "button", title: "hide or show" }, legendKey(entry), entry.name);
      button.setAttribute("aria-pressed", String(!hidden.has(entry.name)));
      button.addEventListener("click", () => {
        if (!hidden.delete(entry.name)) hidden.add(entry.name);
        draw();
      });
      return button;
    }));
    legend.children[focused]?.focus();
  }

  function draw() {
    if (!instance) return;
    const { option, series } = build();
    const shown = series.filter((one) => !hidden.has(one.name));
    instance.setOption({
      animation: false,
      textStyle: { fontFamily: "inherit", color: cssColor("--text") },
      grid: { left: 84, right: 34, top: 38, bottom: 48 },
      ...option,
      tooltip: {
        confine: true, transitionDuration: 0,
        backgroundColor: cssColor("--panel"), borderColor: cssColor("--line"),
        textStyle: { color: cssColor("--text") },
        ...option.tooltip,
      },
      series: shown.map(({ color, dash, ...one }) => ({
        silent: one.type === "custom", color, showSymbol: false,
        lineStyle: { width: 2, color, type: dash ?? "solid" }, itemStyle: { color }, ...one,
      })),
    }, { notMerge: true });
    drawLegend(series);
  }

  function show() {
    if (instance) return;
    observer.disconnect();
    instance = echarts.init(plot, null, { renderer: "svg" });
    draw();
    new ResizeObserver(() => instance.resize()).observe(plot);
  }

  /** For paper, of which nothing tells how large the plot is: a picture that page.css makes as wide as its place. */
  function fit(paper) {
    show();
    instance.resize(paper ? { width: 640, height: 340 } : { width: "auto", height: "auto" });
    const picture = plot.querySelector("svg");
    if (paper) picture.setAttribute("viewBox", "0 0 640 340");
    else picture.removeAttribute("viewBox");
  }

  const observer = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) show();
  }, { rootMargin: "200px" });
  observer.observe(figure);
  return { draw, fit, figure };
}
