// Redundancy groups by pods. Each cell has a letter, so that colour is not
// needed to read it; arrow keys go from cell to cell.

import { h, count } from "./dom.js";

const letters = { Active: "A", Moving: "M", Recovering: "R", Unknown: "?", Down: "D" };

function cellOf(row, column, cell, pod, first) {
  if (!cell) return h("td", { class: "none" });
  const text = cell.leader ? "L" : letters[cell.state] || "?";
  return h("td", {
    class: "cell " + cell.state + (cell.leader ? " leader" : ""),
    tabindex: first ? "0" : "-1",
    "data-focus": "cell/" + row.id + "/" + pod,
    "data-column": column,
    "aria-label": pod + ": " + (cell.leader ? "leader, " : "") + cell.state + (cell.members > 1 ? ", " + cell.members + " members" : ""),
  }, cell.state === "Active" || !cell.leader ? text : text + (letters[cell.state] || "?"));
}

// move carries the focus as in a grid: by column, over rows that have nothing there.
function move(event) {
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
  const from = event.target.closest("td.cell");
  if (!step || !from) return;
  const rows = [...from.closest("tbody").rows];
  let row = rows.indexOf(from.parentElement);
  let column = from.cellIndex;
  for (;;) {
    row += step[0];
    column += step[1];
    const to = rows[row] && rows[row].cells[column];
    if (!to) return;
    if (to.tagName !== "TD" || !to.classList.contains("cell")) continue;
    from.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
    event.preventDefault();
    return;
  }
}

export function showCopies(view, open) {
  const { pods, rows, hidden } = view.copies;
  if (rows.length === 0) {
    return [h("p", { class: "quiet" }, view.idle ? "Nothing should go, so the agents are not asked." : "The agents report no copies.")];
  }
  let first = true;
  const body = rows.map((row) => {
    const cells = new Map(row.cells.map((cell) => [cell.column, cell]));
    return h("tr", { class: row.there < row.of ? "missing" : "" },
      h("th", { scope: "row" }, row.id),
      h("td", { class: "number" }, row.there + "/" + row.of),
      pods.map((pod, column) => {
        const cell = cells.get(column);
        const made = cellOf(row, column, cell, pod, first);
        if (cell) first = false;
        return made;
      }));
  });
  return [
    h("div", { class: "scroll", role: "region", "aria-label": "Copies on pods", tabindex: "0", onkeydown: move },
      h("table", { class: "copies" },
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "group"), h("th", { scope: "col" }, "there"),
          pods.map((pod) => h("th", { scope: "col", class: "turned" },
            h("button", { class: "plain", "data-focus": "column/" + pod, onclick: () => open(pod) }, pod))))),
        h("tbody", {}, body))),
    h("p", { class: "quiet" }, "L leader, A active, M moving, R recovering, D down, ? not known." +
      (hidden > 0 ? " " + count(hidden, "group") + " more that miss no more than these." : "")),
  ];
}
