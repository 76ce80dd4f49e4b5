// Small pictures of costs over time: a bar a step, those of the window in colour, those before it grey.

import { svg } from "./dom.js";

const [WIDTH, HEIGHT] = [96, 26];

// timeline shows what something cost in each of some steps: {start, end} with values, of which null is unknown and has no bar. Steps from the start of
// window on are in colour, and since is marked, if it is known. The label says the same in words.
export function timeline(steps, values, window, since, label) {
  const first = new Date(steps[0].start).getTime();
  const x = (t) => WIDTH * (new Date(t) - first) / (new Date(steps.at(-1).end) - first);
  const most = Math.max(...values.map((v) => v ?? 0), 0) || 1;
  const gap = Math.min(1, WIDTH / steps.length / 5);
  const bars = steps.map(({ start, end }, i) => {
    const height = values[i] > 0 ? Math.max(1, (HEIGHT - 2) * values[i] / most) : 0;
    const kind = new Date(start) < new Date(window.start) ? "before" : "after";
    return height > 0 && svg("rect", { class: kind, x: x(start), y: HEIGHT - height, width: Math.max(0.5, x(end) - x(start) - gap), height });
  });
  return svg("svg", { class: "timeline", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
    svg("title", {}, label),
    svg("rect", { class: "ground", y: HEIGHT - 0.5, width: WIDTH, height: 0.5 }),
    bars,
    since && svg("rect", { class: "since", x: Math.max(0, x(since) - 0.75), width: 1.5, height: HEIGHT }));
}
