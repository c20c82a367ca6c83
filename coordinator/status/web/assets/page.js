// Which cluster is shown, and keeping it current.

import { h, replace } from "./dom.js";
import { showNow } from "./now.js";
import { showPods } from "./pods.js";
import { showCopies } from "./copies.js";
import { showPlan } from "./plan.js";
import { showProgress } from "./progress.js";
import { showTimeline } from "./timeline.js";
import { openPod } from "./explain.js";

const find = (id) => document.getElementById(id);

// Each part is drawn again when what it shows has changed; a chart also when its place has another width.
const parts = [
  { id: "now", show: showNow, of: (v) => [v.phase, v.mode, v.pods, v.budget, v.holds, v.stalled, v.forecast, v.health, v.error, v.idle] },
  { id: "pods", show: showPods, of: (v) => [v.zones.map((z) => [z.name, z.pods.map((p) => ({ ...p, reportAgeSeconds: 0 }))]), v.hidden] },
  { id: "copies", show: showCopies, of: (v) => [v.copies, v.idle] },
  { id: "plan", show: showPlan, of: (v) => [v.steps, v.order, v.zones.map((z) => z.pods.map((p) => [p.name, p.why, p.rule]))] },
  { id: "progress", show: showProgress, of: (v) => [v.timeline.points, v.timeline.ended], wide: true },
  { id: "timeline", show: showTimeline, of: (v) => [v.timeline.stretches, v.timeline.to], wide: true },
];

let stream;
let drawn = {};
let shown;

function problem(text) {
  find("problem").textContent = text || "";
  find("problem").hidden = !text;
}

function draw(view) {
  find("main").hidden = false;
  find("phase").textContent = view.phase;
  find("phase").className = "badge phase-" + view.phase;
  const chosen = find("cluster").selectedOptions[0];
  if (chosen && chosen.value === view.namespace + "/" + view.name) chosen.textContent = chosen.value + " (" + view.phase + ")";
  document.title = view.name + ": " + view.phase + " · Rollcall";
  shown = view;
  for (const part of parts) {
    const width = part.wide && find(part.id).clientWidth;
    const key = JSON.stringify([part.of(view), width]);
    if (drawn[part.id] === key) continue;
    drawn[part.id] = key;
    replace(find(part.id), part.show(view, (pod) => openPod(view, pod), width));
  }
}

function follow(cluster) {
  if (stream) stream.close();
  drawn = {};
  shown = undefined;
  find("main").hidden = true;
  if (!cluster) return;
  const [namespace, name] = cluster.split("/").map(encodeURIComponent);
  const link = find("link");
  stream = new EventSource("api/clusters/" + namespace + "/" + name + "/live");
  stream.addEventListener("open", () => { link.textContent = "live"; });
  stream.addEventListener("error", () => { link.textContent = "no connection: what is shown may be old"; });
  stream.addEventListener("view", (event) => { problem(""); draw(JSON.parse(event.data)); });
  stream.addEventListener("problem", (event) => { problem(JSON.parse(event.data).error); });
}

const wanted = () => decodeURIComponent(location.hash.slice(1));

// listed shows the clusters that there are, and chooses the one of the address.
async function listed() {
  const select = find("cluster");
  let list;
  try {
    const response = await fetch("api/clusters");
    list = await response.json();
    if (!response.ok) throw new Error(list.error);
  } catch (error) {
    problem("The list of database clusters cannot be read: " + error.message);
    return;
  }
  const keys = list.map((c) => c.namespace + "/" + c.name);
  replace(select, list.map((c, i) => h("option", { value: keys[i] }, keys[i] + " (" + c.phase + (c.rule ? ", " + c.rule : "") + ")")));
  select.disabled = list.length === 0;
  if (list.length === 0) {
    problem("There is no DatabaseCluster yet, or the coordinator has only just been elected.");
    return;
  }
  const busy = list.findIndex((c) => c.phase !== "Done" && c.phase !== "Idle");
  select.value = keys.includes(wanted()) ? wanted() : keys[Math.max(0, busy)];
}

find("cluster").addEventListener("change", (event) => { location.hash = event.target.value; });
addEventListener("hashchange", () => {
  if (wanted() === "main") return;
  find("cluster").value = wanted();
  follow(wanted());
});

addEventListener("resize", () => { if (shown) draw(shown); });

await listed();
follow(find("cluster").disabled ? "" : find("cluster").value);
setInterval(async () => {
  const before = find("cluster").disabled ? "" : find("cluster").value;
  if (document.activeElement === find("cluster")) return;
  await listed();
  const now = find("cluster").disabled ? "" : find("cluster").value;
  if (now !== before) follow(now);
}, 15000);
