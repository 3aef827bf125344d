// SPDX-License-Identifier: Apache-2.0
// Latency over load: percentiles of the response at each rate that was kept up with, saturation, SLO.

/** A straight line across the plot; the legend names it. */
function across(name, color, where) {
  return {
    type: "line", name, color, dash: "dotted", data: [], silent: true,
    markLine: {
      symbol: "none", silent: true, lineStyle: { color, type: "dotted", width: 2 }, label: { show: false }, data: [where],
    },
  };
}

/** What the chart shows, in words. */
function foundText(load) {
  const parts = [];
  if (load.saturation !== undefined) parts.push(`Saturation: ${perSecond(load.saturation)}.`);
  if (load.slo_rate === 0) parts.push(`p99 is beyond ${timeText(load.slo_ns)} without load, too.`);
  else if (load.slo_rate !== undefined) parts.push(`p99 is within ${timeText(load.slo_ns)} up to ${perSecond(load.slo_rate)}.`);
  const saturated = load.points.filter((point) => point[4]).map(([rate]) => rate);
  if (load.saturation === undefined && saturated.length > 0) parts.push(`Saturated from ${perSecond(Math.min(...saturated))} on: not drawn.`);
  return parts.join(" ") || "Each offered rate was kept up with.";
}

function loadChart(data) {
  const select = document.getElementById("load-case");
  const names = [...new Set(data.loads.map(({ name }) => name))];
  select.append(...names.map((name) => new Option(name, name)));
  const made = chart("load-curve", () => {
    const loads = data.loads.filter(({ name }) => name === select.value);
    const of = (load) => (data.files.length > 1 ? ` · ${data.files[load.file]}` : "");
    document.getElementById("load-found").textContent = loads.map((load) => (
      of(load) ? `${data.files[load.file]}: ${foundText(load)}` : foundText(load))).join(" ");
    const lines = loads.flatMap((load) => [["p50", 2], ["p99", 3]].map(([name, at], index) => ({
      name: name + of(load), color: colorOf(index), dash: dashes[load.file % dashes.length], type: "line",
      showSymbol: true, symbol: "circle", symbolSize: 5,
      data: load.points.filter((point) => !point[4] && point[at] !== null).map((point) => [point[0], point[at]]),
    })));
    const marks = loads.flatMap((load) => [
      ...(load.saturation ? [across(`saturation${of(load)}`, colorOf(7), { xAxis: load.saturation })] : []),
      ...(load.slo_rate ? [across(`rate within SLO${of(load)}`, colorOf(2), { xAxis: load.slo_rate })] : []),
      ...(load.slo_ns ? [across(`SLO${of(load)}`, colorOf(3), { yAxis: load.slo_ns })] : []),
    ]);
    const rates = [...lines.flatMap((line) => line.data.map(([rate]) => rate)), ...loads.flatMap(({ saturation }) => saturation ?? [])];
    const times = [...lines.flatMap((line) => line.data.map(([, ns]) => ns)), ...loads.flatMap(({ slo_ns }) => slo_ns ?? [])];
    const low = Math.min(...times) / 1.3, high = Math.max(...times) * 1.3;
    return {
      option: {
        xAxis: axis("offered rate", perSecond, { type: "value", min: 0, max: Math.max(...rates) * 1.05, axisLabel: { color: cssColor("--quiet"), formatter: perSecond, hideOverlap: true, showMaxLabel: false } }),
        yAxis: verticalAxis("response", timeText, { type: "log", min: low, max: high, ticks: logTicks(low, high, "ns") }),
        tooltip: {
          trigger: "axis", axisPointer: { snap: true },
          formatter: (hits) => tip(perSecond(hits[0].value[0]), hits.map((hit) => (
            { color: hit.color, name: hit.seriesName, text: timeText(hit.value[1]) }))),
        },
      },
      series: [...lines, ...marks],
    };
  });
  select.addEventListener("change", made.draw);
  return made;
}
