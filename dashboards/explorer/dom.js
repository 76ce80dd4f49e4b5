// Elements of the page. Data becomes text nodes and attributes only, never markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "dataset") Object.assign(node.dataset, value);
    else if (name in PROPERTIES) node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((c) => c !== undefined && c !== null && c !== false));
  return node;
}

// PROPERTIES are set as properties, for their attributes are only what elements begin with.
const PROPERTIES = { __proto__: null, value: 1, checked: 1, indeterminate: 1 };

// el makes an HTML element: el("button", {class: "link", onclick: f}, "text", other).
export function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

// svg makes an SVG element.
export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

// option makes the options of a select from [value, text] pairs.
export function options(pairs, selected) {
  return pairs.map(([value, text]) => el("option", { value, selected: value === selected }, text));
}

// color is the value of a custom property of style.css, such as --accent.
export function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// NARROW is whether the screen is that of a phone, as style.css has it.
export const NARROW = matchMedia("(max-width: 640px)");

// once calls f when nothing has called it for some milliseconds.
export function debounce(f, milliseconds) {
  let timer;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => f(...args), milliseconds);
  };
}

// save has the browser save a blob as a file.
export function save(name, blob) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10e3);
}
