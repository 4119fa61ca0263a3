"use strict";
(() => {
  const number = new Intl.NumberFormat("en-US");
  const percent = new Intl.NumberFormat("en-US", { style: "percent", maximumFractionDigits: 2 });

  // Theme and print
  document.querySelector(".buttons").hidden = false;
  const themes = ["auto", "dark", "light"];
  const themeButton = document.getElementById("theme");
  let theme = 0;
  themeButton.addEventListener("click", () => {
    theme = (theme + 1) % themes.length;
    document.documentElement.dataset.theme = themes[theme];
    themeButton.textContent = `Theme: ${themes[theme]}`;
  });
  document.getElementById("print").addEventListener("click", () => window.print());
  const proofs = document.querySelectorAll("#breakers details");
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...proofs].filter((one) => !one.open);
    for (const one of opened) one.open = true;
  });
  window.addEventListener("afterprint", () => opened.forEach((one) => (one.open = false)));

  // Tables: sort by a click on a head, filter by words
  const cellValue = (cell) => (cell.dataset.v === undefined ? cell.textContent.trim() : Number(cell.dataset.v));
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    const body = table.tBodies[0];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const first = head.classList.contains("number") ? "descending" : "ascending";
        const now = head.getAttribute("aria-sort");
        const other = first === "descending" ? "ascending" : "descending";
        const order = now === first ? other : first;
        heads.forEach((one) => one.setAttribute("aria-sort", one === head ? order : "none"));
        const sign = order === "ascending" ? 1 : -1;
        const rows = [...body.rows].sort((a, b) => sign * compare(cellValue(a.cells[column]), cellValue(b.cells[column])));
        body.append(...rows);
      });
    });
    const box = table.closest("[data-table]");
    const input = box && box.querySelector("[data-filter]");
    if (!input) continue;
    const shown = box.querySelector("[data-shown]");
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let left = 0;
      for (const row of body.rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        left += row.hidden ? 0 : 1;
      }
      shown.textContent = `${number.format(left)} of ${number.format(body.rows.length)} rows`;
    });
  }

  // The prefix tree as an icicle
  const data = document.getElementById("tree-data");
  if (!data) return;
  const tree = JSON.parse(data.textContent);
  const count = tree.parent.length;
  const children = Array.from({ length: count }, () => []);
  const roots = [];
  for (let n = 0; n < count; n += 1) (tree.parent[n] < 0 ? roots : children[tree.parent[n]]).push(n);
  const deepest = tree.end.slice();
  for (let n = count - 1; n >= 0; n -= 1) {
    const above = tree.parent[n];
    if (above >= 0) deepest[above] = Math.max(deepest[above], deepest[n]);
  }
  const frame = document.getElementById("icicle-frame");
  const crumbs = document.getElementById("crumbs");
  const detail = document.getElementById("icicle-detail");
  const svgNode = (name, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key of Object.keys(attributes)) element.setAttribute(key, attributes[key]);
    return element;
  };
  const TOP = -1; // all roots together
  let zoomed = TOP;
  let current = roots.length ? roots[0] : TOP;
  let drawn = new Map();

  const sentTokens = (n) => tree.requests[n] * (tree.end[n] - tree.start[n]);
  const shade = (n) => {
    if (tree.requests[n] < 2) return 0;
    const share = tree.reusable[n] / sentTokens(n);
    return share <= 0.6 ? 1 : share <= 0.9 ? 2 : share <= 0.99 ? 3 : 4;
  };
  const pathOf = (n) => (tree.path[n] < 0 ? "" : tree.paths[tree.path[n]]);
  const plural = (n, word) => `${number.format(n)} ${word}${n === 1 ? "" : "s"}`;
  const describe = (n) => {
    const parts = [
      `Tokens ${number.format(tree.start[n])} to ${number.format(tree.end[n])}${pathOf(n) ? `, to ${pathOf(n)}` : ""}`,
      `${plural(tree.requests[n], "request")} begin${tree.requests[n] === 1 ? "s" : ""} with it`,
      `${number.format(sentTokens(n))} tokens sent, ${percent.format(tree.reusable[n] / sentTokens(n))} of them reusable`,
      `first in ${tree.first[n]}`,
    ];
    if (tree.namespaces.length > 1) parts.push(`namespace ${tree.namespaces[tree.namespace[n]]}`);
    if (tree.hidden[n]) parts.push(`${number.format(tree.hidden[n])} more tokens in smaller boxes below, not drawn`);
    return `${parts.join("; ")}.`;
  };
  const kids = (n) => (n === TOP ? roots : children[n]);
  const siblings = (n) => kids(tree.parent[n] < 0 ? TOP : tree.parent[n]);

  const select = (n, focus) => {
    const before = drawn.get(current);
    if (before) {
      before.setAttribute("tabindex", "-1");
      before.classList.remove("on");
    }
    current = n;
    detail.textContent = describe(n);
    const group = drawn.get(n);
    if (!group) return;
    group.setAttribute("tabindex", "0");
    group.classList.add("on");
    if (focus) group.focus({ preventScroll: true });
  };

  const drawCrumbs = () => {
    const line = [];
    for (let n = zoomed; n !== TOP; n = tree.parent[n] < 0 ? TOP : tree.parent[n]) line.unshift(n);
    const entries = [TOP, ...line.slice(-5)];
    crumbs.replaceChildren(
      ...entries.map((n) => {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = n === TOP ? "all requests" : `${plural(tree.requests[n], "request")}, token ${number.format(tree.start[n])}`;
        if (n === zoomed) button.setAttribute("aria-current", "true");
        button.addEventListener("click", () => zoom(n, true));
        const item = document.createElement("li");
        item.append(button);
        return item;
      }),
    );
  };

  const draw = (focus) => {
    const width = Math.max(frame.clientWidth, 200);
    const height = width < 500 ? 340 : 440;
    const begin = zoomed === TOP ? 0 : tree.start[zoomed];
    const tops = zoomed === TOP ? roots : [zoomed];
    const end = Math.max(1, ...tops.map((n) => deepest[n]));
    const total = tops.reduce((sum, n) => sum + tree.requests[n], 0) || 1;
    const svg = svgNode("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "tree", "aria-label": "Prefix tree" });
    drawn = new Map();
    const place = (n, x, level) => {
      const w = (width * tree.requests[n]) / total;
      if (w < 0.4) return;
      const y = (height * (tree.start[n] - begin)) / (end - begin);
      const h = Math.max((height * (tree.end[n] - tree.start[n])) / (end - begin), 0.5);
      const group = svgNode("g", { role: "treeitem", tabindex: "-1", "aria-level": level, "aria-label": describe(n), "data-node": n });
      if (kids(n).length) group.setAttribute("aria-expanded", "true");
      const tone = shade(n);
      if (tone >= 3) group.classList.add("deep");
      group.append(svgNode("rect", { x: x.toFixed(2), y: y.toFixed(2), width: w.toFixed(2), height: h.toFixed(2), class: `i-${tone}` }));
      const room = Math.floor((w - 12) / 7);
      if (h >= 18 && room >= 9) {
        const words = `${plural(tree.requests[n], "request")}${pathOf(n) ? ` · ${pathOf(n)}` : ""}`;
        const text = svgNode("text", { x: (x + 6).toFixed(2), y: (y + 15).toFixed(2) });
        text.textContent = words.length > room ? `${words.slice(0, room - 1)}…` : words;
        group.append(text);
      }
      drawn.set(n, group);
      svg.append(group);
      let at = x;
      for (const child of children[n]) {
        place(child, at, level + 1);
        at += (width * tree.requests[child]) / total;
      }
    };
    let x = 0;
    for (const n of tops) {
      place(n, x, 1);
      x += (width * tree.requests[n]) / total;
    }
    frame.replaceChildren(svg);
    drawCrumbs();
    select(drawn.has(current) ? current : tops[0], focus);
  };

  const zoom = (n, focus) => {
    zoomed = n;
    if (n !== TOP) current = n;
    draw(focus);
  };

  if (!count) return;
  const nodeAt = (event) => {
    const group = event.target.closest("[data-node]");
    return group ? Number(group.dataset.node) : null;
  };
  frame.addEventListener("click", (event) => {
    const n = nodeAt(event);
    if (n === null) return;
    // A click on what fills the frame already goes back out.
    zoom(n === zoomed ? (tree.parent[n] < 0 ? TOP : tree.parent[n]) : n, true);
  });
  frame.addEventListener("pointerover", (event) => {
    const n = nodeAt(event);
    if (n !== null && !frame.contains(document.activeElement)) select(n, false);
    else if (n !== null) detail.textContent = describe(n);
  });
  frame.addEventListener("keydown", (event) => {
    const beside = (step) => {
      const row = siblings(current).filter((n) => drawn.has(n));
      return row[row.indexOf(current) + step];
    };
    const moves = {
      ArrowDown: () => kids(current).find((n) => drawn.has(n)),
      ArrowUp: () => (current === zoomed ? undefined : tree.parent[current]),
      ArrowRight: () => beside(1),
      ArrowLeft: () => beside(-1),
    };
    if (moves[event.key]) {
      const next = moves[event.key]();
      if (next !== undefined && next >= 0 && drawn.has(next)) select(next, true);
    } else if (event.key === "Enter" || event.key === " ") zoom(current, true);
    else if (event.key === "Escape" || event.key === "Backspace") zoom(zoomed === TOP || tree.parent[zoomed] < 0 ? TOP : tree.parent[zoomed], true);
    else if (event.key === "Home") zoom(TOP, true);
    else return;
    event.preventDefault();
  });
  let width = frame.clientWidth;
  window.addEventListener("resize", () => {
    if (frame.clientWidth !== width) {
      width = frame.clientWidth;
      draw(false);
    }
  });
  draw(false);
})();
