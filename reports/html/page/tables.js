// SPDX-License-Identifier: Apache-2.0
// Tables whose heads sort by the cells' own text: by the number that it begins with, in the unit behind it.

const kUnits = { "µs": 1e3, ms: 1e6, s: 1e9, "kb/s": 1e3, "Mb/s": 1e6, "Gb/s": 1e9, "kmsg/s": 1e3, "Mmsg/s": 1e6 };

/** The number that a cell begins with; what is none ("–") comes last in either direction. */
function cellValue(row, column, isNumber) {
  const text = row.cells[column]?.textContent ?? "";
  if (!isNumber) return text;
  const [, sign, number] = text.match(/^([×<]?)([^]*)$/);
  const value = Number.parseFloat(number) * (kUnits[number.match(/^\S+ (\S+)/)?.[1]] ?? 1);
  if (Number.isNaN(value)) return null;
  return sign === "×" ? 100 * (value - 1) : sign === "<" ? 0.999 * value : value; // ×12.5 is +1150 %
}

function sortTable(head, ascending) {
  const table = head.closest("table");
  const isNumber = head.classList.contains("number");
  const rows = [...table.tBodies[0].rows].map((row) => [cellValue(row, head.cellIndex, isNumber), row]);
  const collator = new Intl.Collator("en", { numeric: true });
  rows.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return (ascending ? 1 : -1) * (isNumber ? a - b : collator.compare(a, b));
  });
  table.tBodies[0].append(...rows.map(([, row]) => row));
  for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
}

function makeSortable(table) {
  for (const head of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sortTable(head, head.getAttribute("aria-sort") !== "ascending"));
    head.append(button);
  }
}
