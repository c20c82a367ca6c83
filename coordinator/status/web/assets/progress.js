// Pods that are left over time: as it was promised at first, and as it went.

import { h, svg, clock, duration } from "./dom.js";

const height = 200;
const left = 40;
const bottom = 24;

export function showProgress(view, open, width) {
  const points = view.timeline.points;
  if (points.length === 0) return [h("p", { class: "quiet" }, "This coordinator has seen no rollout yet.")];
  const at = (time) => new Date(time).getTime();
  const first = points[0];
  const last = points[points.length - 1];
  const from = at(first.at);
  const to = Math.max(at(first.ends), at(last.ends), at(last.at), from + 1000);
  const most = Math.max(...points.map((p) => p.left), 1);
  const x = (time) => left + ((time - from) / (to - from)) * (width - left - 8);
  const y = (n) => 8 + (1 - n / most) * (height - bottom - 8);
  // A pod counts until it is back, so the partition goes down in steps.
  const steps = points.map((p, i) => (i === 0 ? "M" : "H" + x(at(p.at)) + "V") + (i === 0 ? x(at(p.at)) + " " : "") + y(p.left)).join("");
  const promised = (at(first.ends) - from) / 1000;
  const taken = (at(last.at) - from) / 1000;
  const words = view.timeline.ended
    ? "It took " + duration(taken) + "; " + duration(promised) + " were forecast when it began."
    : duration(taken) + " so far; " + duration(promised) + " were forecast when it began, and now " +
      duration((at(last.ends) - at(last.at)) / 1000) + " more.";
  return [
    h("p", {}, words),
    svg("svg", { width, height, class: "chart", role: "img", "aria-label": "Pods that are left over time. " + words },
      svg("path", { class: "axis", d: "M" + left + " 8V" + (height - bottom) + "H" + (width - 8) }),
      svg("text", { x: left - 6, y: y(most) + 4, class: "right" }, most),
      svg("text", { x: left - 6, y: y(0) + 4, class: "right" }, "0"),
      svg("text", { x: left, y: height - 6 }, clock(from)),
      svg("text", { x: width - 8, y: height - 6, class: "right" }, clock(to)),
      svg("path", { class: "promised", d: "M" + x(from) + " " + y(first.left) + "L" + x(at(first.ends)) + " " + y(0) }),
      !view.timeline.ended && svg("path", { class: "expected", d: "M" + x(at(last.at)) + " " + y(last.left) + "L" + x(at(last.ends)) + " " + y(0) }),
      svg("path", { class: "actual", d: steps })),
    h("p", { class: "quiet" }, "Line: pods that are left. Dashes: as forecast at the beginning. Dots: as forecast now."),
  ];
}
