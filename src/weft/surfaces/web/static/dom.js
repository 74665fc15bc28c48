// The page's only door from strings to HTML: the host has sanitised every string that goes through it.

const policy = globalThis.trustedTypes?.createPolicy("weft", { createHTML: (text) => text }) ?? {
  createHTML: (text) => text,
};

export function setHtml(element, html) {
  element.innerHTML = policy.createHTML(html);
}

export function addHtml(element, html) {
  element.insertAdjacentHTML("beforeend", policy.createHTML(html));
}

/** An element. `kind` is `tag.class.class`; properties that begin with `on` are listeners; null children are left out. */
export function h(kind, properties = {}, ...children) {
  const [tag, ...classes] = kind.split(".");
  const element = document.createElement(tag || "div");
  if (classes.length) element.className = classes.join(" ");
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && !name.startsWith("aria") && name !== "list" && name !== "form") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  add(element, children);
  return element;
}

export function add(element, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child);
  }
  return element;
}

export function fill(element, ...children) {
  element.replaceChildren();
  return add(element, ...children);
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  for (const child of children.flat()) if (child) element.append(child);
  return element;
}

const PATHS = {
  plus: "M12 5v14M5 12h14",
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M7 7h10v10H7z",
  check: "M5 12.5l4.5 4.5L19 7.5",
  cross: "M6 6l12 12M18 6L6 18",
  chevron: "M9 6l6 6-6 6",
  down: "M6 9l6 6 6-6",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM20 20l-4-4",
  menu: "M4 7h16M4 12h16M4 17h16",
  panel: "M4 5h16v14H4zM10 5v14",
  file: "M6 3h8l5 5v13H6zM14 3v5h5",
  folder: "M3 6h7l2 2h9v11H3z",
  terminal: "M4 6l5 6-5 6M12 18h8",
  globe: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM3 12h18M12 3c3 3 3.5 6 3.5 9S15 18 12 21c-3-3-3.500-6-3.500-9S9 6 12 3",
  brain: "M9 4a3 3 0 0 0-3 3 3 3 0 0 0-2 5 3 3 0 0 0 2 5 3 3 0 0 0 6 1V6a3 3 0 0 0-3-2zM15 4a3 3 0 0 1 3 3 3 3 0 0 1 2 5 3 3 0 0 1-2 5 3 3 0 0 1-6 1",
  tool: "M14 6a4 4 0 0 1 5-1l-3 3 1 2 2 1 3-3a4 4 0 0 1-6 5l-8 8-3-3 8-8a4 4 0 0 1 1-4z",
  robot: "M6 9h12v10H6zM12 9V5M9 14h.01M15 14h.01M3 13v3M21 13v3",
  back: "M9 7L4 12l5 5M4 12h10a6 6 0 0 1 6 6",
  fork: "M7 4v9a4 4 0 0 0 4 4h6M7 4L4 7M7 4l3 3M17 17l-3-3M17 17l-3 3",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  gear: "M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM12 3v3M12 18v3M3 12h3M18 12h3M5.600 5.600l2.100 2.100M16.300 16.300l2.100 2.100M5.600 18.400l2.100-2.100M16.300 7.700l2.100-2.100",
  shield: "M12 3l8 3v6c0 5-3.500 8-8 9-4.500-1-8-4-8-9V6z",
  chart: "M5 20V11M11 20V5M17 20v-7M3 20h18",
  plug: "M9 3v5M15 3v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4",
  image: "M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15 9h.01",
  clip: "M20 11l-8.500 8.500a5 5 0 0 1-7-7L13 4a3.500 3.500 0 0 1 5 5l-8.500 8.500a2 2 0 0 1-3-3L14 7",
  warn: "M12 4l9 16H3zM12 10v5M12 17.500h.01",
  info: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 11v6M12 7.500h.01",
  question: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM9.500 9.500a2.500 2.500 0 1 1 3.500 2.300c-.7.400-1 .9-1 1.700M12 16.500h.01",
  list: "M9 6h11M9 12h11M9 18h11M4 6h.01M4 12h.01M4 18h.01",
  keyboard: "M3 7h18v10H3zM7 11h.01M11 11h.01M15 11h.01M8 14h8",
  eye: "M2 12s4-6 10-6 10 6 10 6-4 6-10 6-10-6-10-6zM12 10a2 2 0 1 0 0 4 2 2 0 0 0 0-4z",
  moon: "M20 14a8 8 0 1 1-10-10 7 7 0 0 0 10 10z",
  bolt: "M13 3L5 14h6l-1 7 8-11h-6z",
  split: "M4 5h16v14H4zM12 5v14",
};

/** A drawn icon; decoration only, so a reader of the screen does not hear of it. */
export function icon(name) {
  const drawn = svg("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true", focusable: "false" });
  drawn.append(svg("path", { d: PATHS[name] ?? PATHS.tool }));
  return drawn;
}

export function button(label, options = {}) {
  const { iconName, kind = "", text, ...rest } = options;
  const made = h(`button.button${kind ? "." + kind : ""}`, { type: "button", "aria-label": label, title: label, ...rest });
  add(made, iconName ? icon(iconName) : null, text ? h("span", {}, text) : null);
  return made;
}

/** Text for a reader of the screen; nothing is seen. */
let live = null;
export function announce(text) {
  live ??= document.body.appendChild(h("div.hidden-visually", { role: "status", "aria-live": "polite" }));
  live.textContent = text;
}

export async function copyText(text, element) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = h("textarea", { value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  element?.classList.add("copied");
  setTimeout(() => element?.classList.remove("copied"), 1200);
}
