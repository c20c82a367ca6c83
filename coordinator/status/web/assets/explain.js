// Why one pod goes, waits or is left alone.

import { h, duration } from "./dom.js";

const find = (id) => document.getElementById(id);

export async function openPod(view, pod) {
  const path = ["api/clusters", view.namespace, view.name, "pods", pod].map((part, i) => (i === 0 ? part : encodeURIComponent(part))).join("/");
  find("pod-name").textContent = pod;
  find("pod-text").textContent = "…";
  const body = find("pod-facts").tBodies[0];
  body.replaceChildren();
  find("pod").showModal();
  try {
    const response = await fetch(path);
    const explanation = await response.json();
    if (!response.ok) throw new Error(explanation.error);
    if (find("pod-name").textContent !== pod) return; // another was opened meanwhile
    find("pod-text").textContent = explanation.text;
    body.replaceChildren(...explanation.facts.map((fact) => h("tr", {}, h("th", { scope: "row" }, fact.name), h("td", {}, fact.value),
      h("td", { class: "quiet" }, fact.ageSeconds >= 0 ? duration(fact.ageSeconds) + " ago" : ""))));
  } catch (error) {
    find("pod-text").textContent = error.message;
  }
}
