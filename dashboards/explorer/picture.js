// The PNG of a view: its elements as they are on the page, drawn on a canvas.

import { save } from "./dom.js";

const SCALE = 2;
const MARGIN = 16;
const HEAD = 44; // of the title
const MOST = 6000; // pixels of height: canvases have bounds

// savePicture has the browser save what an element shows as PNG, with a title.
export async function savePicture(element, title) {
  const box = element.getBoundingClientRect();
  const style = getComputedStyle(document.body);
  const [width, whole] = [box.width + 2 * MARGIN, box.height + HEAD + MARGIN];
  const height = Math.min(MOST, whole);
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width * SCALE, height * SCALE];
  const on = canvas.getContext("2d");
  on.scale(SCALE, SCALE);
  on.fillStyle = style.backgroundColor;
  on.fillRect(0, 0, width, height);
  on.fillStyle = style.color;
  on.font = "600 15px system-ui, sans-serif";
  on.fillText(whole > MOST ? `${title} (the upper part)` : title, MARGIN, 28, box.width);
  on.translate(MARGIN - box.x, HEAD - box.y);
  draw(on, element);
  const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
  save("promcost.png", blob);
}

// draw draws an element and what is in it: canvases, the ground of boxes, the rectangles of SVG, and texts.
function draw(on, element) {
  const style = getComputedStyle(element);
  const box = element.getBoundingClientRect();
  if (element.matches("title, .hidden") || !element.checkVisibility({ visibilityProperty: true })) return;
  if (element instanceof HTMLCanvasElement) {
    on.drawImage(element, box.x, box.y, box.width, box.height);
    return;
  }
  on.save();
  if (style.overflowX !== "visible" && style.display !== "inline") {
    on.beginPath();
    on.rect(box.x, box.y, box.width, box.height);
    on.clip();
  }
  on.globalAlpha *= style.opacity;
  if (element instanceof SVGRectElement) {
    paint(on, box, style.fill, style.fillOpacity);
    if (style.stroke !== "none") {
      on.strokeStyle = style.stroke;
      on.strokeRect(box.x, box.y, box.width, box.height);
    }
  } else if (element instanceof HTMLElement) {
    paint(on, box, style.backgroundColor, 1);
  }
  for (const node of element.childNodes) {
    if (node instanceof Text) write(on, node, style);
    else if (node instanceof Element) draw(on, node);
  }
  on.restore();
}

function paint(on, box, color, opacity) {
  if (color === "none") return;
  on.save();
  on.fillStyle = color;
  on.globalAlpha *= opacity;
  on.fillRect(box.x, box.y, box.width, box.height);
  on.restore();
}

// write draws a text word by word, each where the page has it.
function write(on, node, style) {
  const graphic = node.parentNode instanceof SVGGraphicsElement ? node.parentNode : undefined;
  const range = document.createRange();
  on.fillStyle = graphic ? style.fill : style.color;
  on.font = `${style.fontWeight} ${parseFloat(style.fontSize) * (graphic?.getScreenCTM().a ?? 1)}px ${style.fontFamily}`;
  on.textBaseline = "middle";
  for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
    range.setStart(node, index);
    range.setEnd(node, index + word.length);
    const box = range.getBoundingClientRect();
    if (box.width > 0) on.fillText(word, box.x, box.y + box.height / 2, box.width);
  }
}
