// What goes on, in a few sentences.

import { h, count, duration } from "./dom.js";

const phases = {
  Idle: "Nothing should go.",
  Rolling: "A change is rolling.",
  Waiting: "Pods should go, and none may now.",
  Paused: "Somebody has paused it.",
  Stalled: "Nothing has moved for long.",
  Done: "Every pod is up to date and back.",
};

export function showNow(view) {
  const { pods, budget } = view;
  const facts = [
    [pods.updated + " of " + pods.desired, "up to date"],
    [pods.ready + " of " + pods.desired, "ready"],
    [budget.pods.away + " of " + budget.pods.limit, "unavailable of those that may be"],
    [pods.failed, "failed"],
  ];
  if (budget.zones.limit > 0) facts.splice(3, 0, [budget.zones.away + " of " + budget.zones.limit, "zones with an unavailable pod, of those that may have one"]);
  if (view.order.length > 0 && view.forecast.seconds > 0) facts.push([duration(view.forecast.seconds), "to go, as estimated"]);
  return [
    h("p", {}, (phases[view.phase] || view.phase) + (view.mode === "Observe" ? " Rollcall only watches: update.mode is Observe." : "")),
    view.error && h("p", { class: "problem" }, view.error),
    h("dl", { class: "facts" }, facts.map(([value, name]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    view.health.verdict && view.health.verdict !== "Green" && !view.idle &&
      h("p", {}, "The database says " + view.health.verdict + (view.health.reason ? ": " + view.health.reason : "") + "."),
    view.stalled && h("p", { class: "problem", id: "stalled" }, h("strong", { class: "rule" }, view.stalled.rule), " " + view.stalled.message),
    view.holds.length > 0 && h("ul", { class: "holds" }, view.holds.map((hold) => h("li", {},
      h("strong", { class: "rule" }, hold.rule), " " + hold.reason,
      hold.unblocks && h("span", { class: "unblocks" }, "→ " + hold.unblocks)))),
    view.hidden > 0 && h("p", { class: "quiet" }, count(view.hidden, "pod") + " that are well are not shown."),
  ];
}
