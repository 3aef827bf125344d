// SPDX-License-Identifier: Apache-2.0
// One quantity over one axis: a line for everything that is alike but for that axis, and a band from
// the least to the greatest repetition.

const kMostLines = 24; // more than that nobody tells apart

/** As it was asked for: 100 ms, 12345 /s, 64K B */
function axisText(value, unit) {
  if (typeof value !== "number") return String(value);
  if (unit === "1/s") return `${value} /s`;
  if (unit !== "ns") return valueText(value, unit);
  const [name, size] = [["s", 1e9], ["ms", 1e6], ["µs", 1e3]].find(([, least]) => value >= least) ?? ["ns", 1];
  return `${Number((value / size).toPrecision(12))} ${name}`;
}
const kindOfCase = (one) => `${one.test} ${one.transport}`;

/** {test and transport: the axes that vary among its cases}: what tells its lines apart. */
function axesOfKinds(data) {
  const seen = new Map();
  for (const one of data.cases) {
    const kind = kindOfCase(one);
    if (!seen.has(kind)) seen.set(kind, new Map(data.axes.map(({ key }) => [key, new Set()])));
    for (const [key, values] of seen.get(kind)) values.add(one.axes[key]);
  }
  const varying = (values) => data.axes.filter(({ key }) => values.get(key).size > 1);
  return new Map([...seen].map(([kind, values]) => [kind, varying(values)]));
}

/** [{name, kind, file, isRate, color, dash, points: [[x, least, median, greatest]]}], x ascending. */
function axisLines(data, quantity, axisKey) {
  const groups = new Map();
  const axesOf = axesOfKinds(data);
  for (const one of data.cases) {
    const x = one.axes[axisKey];
    if (typeof x !== "number") continue;
    const others = axesOf.get(kindOfCase(one)).filter(({ key }) => key !== axisKey && one.axes[key] !== undefined);
    const kind = [kindOfCase(one), ...others.map(({ key, name, unit }) => `${name} ${axisText(one.axes[key], unit)}`)].join(", ");
    one.files.forEach((file, f) => {
      const value = file?.values[quantity.key];
      if (!value) return;
      const name = data.files.length > 1 ? `${kind} · ${data.files[f]}` : kind;
      const id = JSON.stringify([name, others.map(({ key }) => one.axes[key])]); // names may be rounded
      if (!groups.has(id)) groups.set(id, { name, kind, file: f, isRate: "gbps" in file.values, points: [] });
      groups.get(id).points.push([x, ...value]);
    });
  }
  return [...groups.values()];
}

/** Those whose names have all the words. Without any, latencies of bandwidth tests are left out. */
function chosenLines(lines, words, isTime) {
  const plain = lines.filter((line) => !(isTime && line.isRate));
  const chosen = words.length === 0 && plain.length > 0 ? plain
    : lines.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
  const kinds = [...new Set(chosen.map((line) => line.kind))];
  return chosen.map((line) => ({
    ...line,
    color: colorOf(kinds.indexOf(line.kind)),
    dash: dashes[line.file % dashes.length],
    points: line.points.sort((a, b) => a[0] - b[0]),
  }));
}

/** The outline of a band, drawn in the chart's own coordinates. */
function band({ name, color, dash, points }) {
  return {
    type: "custom", name, color, dash, z: 1, tooltip: { show: false },
    data: points.map(([x, least, , greatest]) => [x, least, greatest]), encode: { x: 0, y: [1, 2] }, // what axes reach to
    renderItem: ({ dataIndex }, api) => (dataIndex > 0 ? undefined : {
      type: "polygon",
      shape: {
        points: [...points.map(([x, least]) => api.coord([x, least])),
          ...[...points].reverse().map(([x, , , greatest]) => api.coord([x, greatest]))],
      },
      style: { fill: color, opacity: 0.16 },
    }),
    clip: true,
  };
}

function horizontalAxis({ name, unit }, values) {
  const low = Math.min(...values), high = Math.max(...values);
  const title = unit && unit !== "1/s" ? `${name} [${unit}]` : name;
  const label = (value) => (unit === "B" ? sizeText(value) : unit === "ns" || unit === "1/s" ? valueText(value, unit) : `${value}`);
  if (low <= 0 || high / low < 8) return axis(title, label, { type: "value", scale: true });
  if (unit === "1/s") return axis(title, label, { type: "log", min: low, max: high, ticks: logTicks(low, high, unit) });
  const powers = [];
  const step = Math.log2(high / low) > 16 ? 4 : Math.log2(high / low) > 7 ? 2 : 1;
  for (let e = Math.ceil(Math.log2(low)); e <= Math.log2(high) + 1e-9; e += step) powers.push(2 ** e);
  return axis(title, label, { type: "log", logBase: 2, min: low, max: high, ticks: powers });
}

function quantityAxis({ name, unit }, values) {
  const label = (value) => valueText(value, unit);
  const positive = values.filter((value) => value > 0);
  const low = Math.min(...positive) / 1.2, high = Math.max(...positive) * 1.2;
  const logarithmic = positive.length === values.length && high / low > 40;
  return verticalAxis(name, label, logarithmic ? { type: "log", min: low, max: high, ticks: logTicks(low, high, unit) } : { type: "value" });
}

/** @return null where the results have no such quantity, or no axis with numbers */
function axisChart(id, data) {
  const figure = document.getElementById(id);
  const isTime = figure.dataset.kind === "time";
  const known = data.quantities.filter(({ key, unit }) => (unit === "ns") === isTime
    && data.cases.some((one) => one.files.some((file) => file?.values[key])));
  const axes = data.axes.filter(({ key }) => data.cases.some((one) => typeof one.axes[key] === "number"));
  if (known.length === 0 || axes.length === 0) {
    figure.hidden = true;
    return null;
  }
  const quantitySelect = figure.querySelector("[data-quantity]");
  const axisSelect = figure.querySelector("[data-axis]");
  quantitySelect.append(...known.map(({ name, key }) => new Option(name, key)));
  axisSelect.append(...axes.map(({ name, key }) => new Option(name, key)));
  const filter = document.getElementById("line-filter");
  const hint = figure.querySelector(".hint");
  const said = hint.textContent;

  const made = chart(id, () => {
    const quantity = known.find(({ key }) => key === quantitySelect.value);
    const across = axes.find(({ key }) => key === axisSelect.value);
    const words = filter.value.toLowerCase().split(/[\s,]+/).filter(Boolean);
    const all = chosenLines(axisLines(data, quantity, across.key), words, isTime);
    const lines = all.slice(0, kMostLines);
    hint.textContent = said + (all.length > lines.length ? ` ${lines.length} of ${all.length} lines are drawn; filter for others.` : "");
    const xs = lines.flatMap(({ points }) => points.map(([x]) => x));
    const ys = lines.flatMap(({ points }) => points.flatMap(([, ...values]) => values));
    return {
      option: {
        xAxis: horizontalAxis(across, xs.length ? xs : [1, 10]),
        yAxis: quantityAxis(quantity, ys.length ? ys : [1]),
        tooltip: {
          trigger: "axis", axisPointer: { snap: true },
          formatter: (hits) => tip(`${across.name} ${valueText(hits[0].value[0], across.unit)}`, hits.map((hit) => (
            { color: hit.color, name: hit.seriesName, text: valueText(hit.value[1], quantity.unit) }))),
        },
      },
      series: lines.flatMap(({ points, ...line }) => [
        band({ ...line, points }),
        { ...line, type: "line", z: 2, showSymbol: true, symbol: "circle", symbolSize: 5, data: points.map(([x, , median]) => [x, median]) },
      ]),
    };
  });
  for (const select of [quantitySelect, axisSelect]) select.addEventListener("change", made.draw);
  filter.addEventListener("input", made.draw);
  return made;
}
