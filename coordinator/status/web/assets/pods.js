// The pods, in the zones in which they run.

import { h, count } from "./dom.js";

const signs = { Claimed: "▶", Go: "▷", Hold: "‖", UpToDate: "✓" };
const words = { Claimed: "on its way", Go: "may go now", Hold: "held", UpToDate: "nothing to do" };

function tile(pod, open) {
  const bad = pod.problem || (pod.verdict !== "Claimed" && pod.state !== "Ready");
  return h("li", {}, h("button", {
    class: "pod " + pod.verdict + (bad ? " bad" : "") + (pod.updated ? " updated" : ""),
    "data-focus": "pod/" + pod.name,
    title: pod.why || words[pod.verdict],
    onclick: () => open(pod.name),
  },
  h("span", { "aria-hidden": "true", class: "sign" }, signs[pod.verdict] || "?"),
  h("span", { class: "name" }, pod.name),
  h("span", { class: "state" }, pod.state + (pod.problem ? " " + pod.problem : "")),
  h("span", { class: "rule" }, pod.rule || words[pod.verdict] || ""),
  (pod.roles || []).length > 0 && h("span", { class: "quiet" }, pod.roles.join(", "))));
}

export function showPods(view, open) {
  if (view.zones.length === 0) return [h("p", { class: "quiet" }, "No pod is known.")];
  return [
    h("div", { class: "zones" }, view.zones.map((zone) => h("section", { class: "zone" },
      h("h3", {}, zone.name || "zone not known", h("span", { class: "quiet" }, " " + count(zone.pods.length, "pod"))),
      h("ul", {}, zone.pods.map((pod) => tile(pod, open)))))),
    h("p", { class: "quiet" }, "✓ nothing to do, ‖ held, ▷ may go now, ▶ on its way. Press a pod to see why."),
  ];
}
