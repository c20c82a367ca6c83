// What goes now, and what holds each of the others, in the order in which they
// are considered.

import { h } from "./dom.js";

export function showPlan(view, open) {
  if (view.order.length === 0) return [h("p", { class: "quiet" }, "Nothing asks a pod to go.")];
  const pods = new Map(view.zones.flatMap((zone) => zone.pods).map((pod) => [pod.name, pod]));
  const steps = new Map(view.steps.map((step) => [step.pod, step]));
  const line = (name) => {
    const pod = pods.get(name);
    const step = steps.get(name);
    const button = h("button", { class: "plain", "data-focus": "plan/" + name, onclick: () => open(name) }, name);
    if (step) {
      const how = step.prepare && step.prepare !== "None" ? step.prepare + ", then " + step.action : step.action;
      return h("li", { class: "go" }, button, h("strong", {}, " goes now: " + how), " (" + step.reason + ")", (step.notes || []).length > 0 && h("span", { class: "unblocks" }, step.notes.join("; ")));
    }
    if (!pod) return h("li", {}, button);
    if (pod.verdict === "Claimed") return h("li", { class: "go" }, button, h("strong", {}, " is on its way: " + pod.state), pod.why && " (" + pod.why + ")");
    return h("li", {}, button, " ", pod.rule && h("strong", { class: "rule" }, pod.rule), " " + (pod.why || ""), pod.unblocks && h("span", { class: "unblocks" }, "→ " + pod.unblocks));
  };
  return [h("ol", { class: "plan" }, view.order.map(line))];
}
