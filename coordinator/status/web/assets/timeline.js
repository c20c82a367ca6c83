// Which pod was in which state when.

import { h, svg, clock, duration } from "./dom.js";

const line = 20;

export function showTimeline(view, open, width) {
  const { stretches, from, to } = view.timeline;
  if (stretches.length === 0) return [h("p", { class: "quiet" }, "This coordinator has seen no pod on its way yet.")];
  const at = (time) => new Date(time).getTime();
  const begin = Math.min(...stretches.map((s) => at(s.from)), at(from));
  const end = Math.max(at(to), begin + 1000);
  const pods = [...new Set(stretches.map((s) => s.pod))];
  // Names have room, up to a third; the title of a bar has the whole name.
  const left = Math.min(Math.max(...pods.map((pod) => pod.length)) * 8 + 8, Math.round(width / 3));
  const fit = (pod) => (pod.length * 8 + 8 > left ? "…" + pod.slice(-Math.floor(left / 8 - 2)) : pod);
  const x = (time) => left + ((at(time) - begin) / (end - begin)) * (width - left - 8);
  const bars = stretches.map((s) => svg("rect", {
    x: x(s.from), y: pods.indexOf(s.pod) * line + 3, height: line - 6, width: Math.max(1.5, x(s.to) - x(s.from)), class: "bar " + s.state,
  }, svg("title", {}, s.pod + ": " + s.state + " for " + duration((at(s.to) - at(s.from)) / 1000) + " from " + clock(s.from))));
  const states = [...new Set(stretches.map((s) => s.state))];
  const tall = pods.length * line;
  return [
    h("p", { class: "legend" }, states.map((state) => h("span", {}, h("i", { class: "bar " + state }), state))),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Timeline" },
      svg("svg", { width, height: tall + 20, class: "chart", role: "img", "aria-label": "Timeline of " + pods.length + " pods; the table below says the same" },
        pods.map((pod, i) => svg("text", { x: 0, y: i * line + 14 }, fit(pod))), bars,
        svg("path", { class: "axis", d: "M" + left + " " + tall + "H" + (width - 8) }),
        svg("text", { x: left, y: tall + 15 }, clock(begin)), svg("text", { x: width - 8, y: tall + 15, class: "right" }, clock(end)))),
    h("details", {}, h("summary", { "data-focus": "timeline/table" }, "As a table"),
      h("table", {}, h("thead", {}, h("tr", {}, ["pod", "state", "from", "for"].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, stretches.map((s) => h("tr", {}, h("td", {}, s.pod), h("td", {}, s.state), h("td", {}, clock(s.from)),
          h("td", {}, duration((at(s.to) - at(s.from)) / 1000))))))),
  ];
}
