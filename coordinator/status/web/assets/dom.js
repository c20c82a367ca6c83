// Elements from text that is never read as HTML.

const svgNamespace = "http://www.w3.org/2000/svg";

// there: a child that was not left out by a condition.
const there = (child) => child !== undefined && child !== null && child !== false && child !== "";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (there(child)) element.append(child);
  }
  return element;
}

export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);

export const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS(svgNamespace, tag), attributes, children);

// replace puts new children into a place and gives the focus back to what had
// it, told by its data-focus.
export function replace(place, ...children) {
  const active = document.activeElement;
  const key = place.contains(active) ? active.dataset.focus : undefined;
  place.replaceChildren(...children.flat().filter(there));
  if (key === undefined) return;
  for (const element of place.querySelectorAll("[data-focus]")) {
    if (element.dataset.focus === key) {
      element.focus({ preventScroll: true });
      return;
    }
  }
}

export function duration(seconds) {
  seconds = Math.max(0, Math.round(seconds));
  if (seconds < 90) return seconds + " s";
  if (seconds < 5400) return Math.round(seconds / 60) + " min";
  return (seconds / 3600).toFixed(1) + " h";
}

export const clock = (time) => new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });

export const count = (n, one, many) => n + " " + (n === 1 ? one : many || one + "s");
