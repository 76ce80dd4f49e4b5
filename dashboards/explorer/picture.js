// The PNG of a view: its pictures below each other, with a title.

const SCALE = 2;
const PROPERTIES = ["fill", "stroke", "font-family", "font-size", "font-weight", "opacity"];

// savePicture has the browser save canvases and SVG elements as one PNG. They are given by functions, for they may be drawn anew.
export async function savePicture(pictures, title) {
  const parts = [];
  for (const picture of pictures) {
    const element = picture();
    if (!element?.isConnected) continue;
    const { width, height } = element.getBoundingClientRect();
    parts.push({ image: element instanceof HTMLCanvasElement ? element : await imageOf(element, width, height), width, height });
  }
  const style = getComputedStyle(document.body);
  const width = Math.max(480, ...parts.map((p) => p.width)) + 32;
  const height = parts.reduce((sum, p) => sum + p.height + 16, 48);
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width * SCALE, height * SCALE];
  const on = canvas.getContext("2d");
  on.scale(SCALE, SCALE);
  on.fillStyle = style.backgroundColor;
  on.fillRect(0, 0, width, height);
  on.fillStyle = style.color;
  on.font = "600 15px system-ui, sans-serif";
  on.fillText(title, 16, 28, width - 32);
  let y = 44;
  for (const p of parts) {
    on.drawImage(p.image, 16, y, p.width, p.height);
    y += p.height + 16;
  }
  const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = "promcost.png";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10e3);
}

// imageOf is an SVG element as an image: with its styles, which a picture of its own would not have.
async function imageOf(element, width, height) {
  const copy = element.cloneNode(true);
  const originals = [element, ...element.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((node, i) => {
    const style = getComputedStyle(originals[i]);
    for (const name of PROPERTIES) node.setAttribute(name, style.getPropertyValue(name));
  });
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const url = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
  const image = new Image();
  image.src = url;
  await image.decode();
  URL.revokeObjectURL(url);
  return image;
}
