// SPDX-License-Identifier: Apache-2.0
// The rate of one case over time, repetition by repetition.

function timeChart(data) {
  const select = document.getElementById("time-case");
  const withSeries = data.cases.filter((one) => one.files.some((file) => file?.over_time));
  select.append(...withSeries.map((one, index) => new Option(one.label, index)));
  const made = chart("over-time", () => {
    const lines = withSeries[select.value].files.flatMap((file, f) => (file?.over_time ?? []).map((points, index) => ({
      name: data.files.length > 1 ? `repetition ${index + 1} · ${data.files[f]}` : `repetition ${index + 1}`,
      color: colorOf(index), dash: dashes[f % dashes.length],
      type: "line", step: "start", data: [[0, points[0][1]], ...points],
    })));
    return {
      option: {
        xAxis: axis("since the traffic began", (s) => timeText(s * 1e9), { type: "value" }),
        yAxis: verticalAxis("message rate", (value) => rateText(value, "Mmsg/s"), { type: "value" }),
        tooltip: {
          trigger: "axis",
          formatter: (hits) => tip(timeText(hits[0].value[0] * 1e9), hits.map((hit) => (
            { color: hit.color, name: hit.seriesName, text: rateText(hit.value[1], "Mmsg/s") }))),
        },
      },
      series: lines.slice(0, kMostLines),
    };
  });
  select.addEventListener("change", made.draw);
  return made;
}
