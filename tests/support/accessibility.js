// What is wrong with a document: the value is a list of faults. See accessibility.py.
(() => {
  const faults = [];
  const about = (each) => each.outerHTML.replace(/\s+/g, " ").slice(0, 90);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const isHidden = (each) => !each.checkVisibility({ checkVisibilityCSS: true })
    || each.closest(".unseen, .skip");

  if (!document.documentElement.lang) faults.push("the document has no language");
  if (!document.title.trim()) faults.push("the document has no title");

  const ids = all("[id]").map((each) => each.id);
  for (const id of new Set(ids.filter((id, at) => ids.indexOf(id) !== at))) faults.push(`id ${id} is there twice`);
  for (const name of ["aria-describedby", "aria-labelledby", "aria-controls"]) {
    for (const each of all(`[${name}]`)) {
      for (const id of each.getAttribute(name).split(/\s+/)) {
        if (!document.getElementById(id)) faults.push(`${name}=${id} leads nowhere`);
      }
    }
  }

  const levels = all("h1, h2, h3, h4, h5, h6").map((each) => Number(each.tagName[1]));
  if (levels.filter((each) => each === 1).length !== 1) faults.push(`${levels.filter((each) => each === 1).length} headings of the first level`);
  levels.forEach((each, at) => {
    if (each > (levels[at - 1] ?? 0) + 1) faults.push(`a heading of level ${each} after ${levels[at - 1] ?? "none"}`);
  });

  // A dialog has a name of its own, and stands outside of all others.
  const landmarks = "header, nav, main, footer, [role=search], section[aria-label], .skip, dialog[aria-labelledby]";
  if (all("main").length !== 1) faults.push("not one main");
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const holders = new Set();
  while (texts.nextNode()) {
    const holder = texts.currentNode.parentElement;
    if (texts.currentNode.nodeValue.trim() && !holder.closest("script, noscript, title, option, datalist")) holders.add(holder);
  }
  for (const each of holders) {
    if (!each.closest(landmarks)) faults.push(`text outside of landmarks: ${about(each)}`);
  }

  for (const each of all("table")) {
    if (!all("th", each).length) faults.push(`a table without headings: ${about(each)}`);
    const columns = all("thead th", each).length;
    for (const row of all("tbody tr", each)) {
      if (row.children.length !== columns) faults.push(`a row of ${row.children.length} cells below ${columns} headings`);
    }
  }

  // Contrast.
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const parsed = (colour) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = pen.getImageData(0, 0, 1, 1).data;
    return { rgb: [red, green, blue], alpha };
  };
  const light = (rgb) => rgb.map((each) => each / 255)
    .map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4))
    .reduce((sum, each, at) => sum + each * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (each) => {
    // A word on a pattern has a plate of its own before it.
    const plate = each.previousElementSibling;
    if (plate?.matches("rect.plate")) return parsed(getComputedStyle(plate).fill).rgb;
    for (let at = each; at; at = at.parentElement) {
      const { rgb, alpha } = parsed(getComputedStyle(at).backgroundColor);
      if (alpha === 255) return rgb;
    }
    return [255, 255, 255];
  };
  for (const each of holders) {
    if (isHidden(each)) continue;
    const style = getComputedStyle(each);
    const isDrawn = each instanceof SVGElement;
    const [one, other] = [light(parsed(isDrawn ? style.fill : style.color).rgb), light(behind(each))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (contrast < (isLarge ? 3 : 4.5)) faults.push(`contrast ${contrast.toFixed(2)}: ${about(each)}`);
  }

  // What is pressed is at least 24 pixels high, unless it is a link in a text or a table.
  for (const each of all("button, input:not([type=hidden]), select, nav a, a.tile")) {
    const { width, height } = each.getBoundingClientRect();
    if (!isHidden(each) && (width < 24 || height < 24)) faults.push(`${width}x${height} pixels: ${about(each)}`);
  }
  if (document.documentElement.scrollWidth > innerWidth) faults.push(`${document.documentElement.scrollWidth} pixels wide in ${innerWidth}`);
  return faults;
})()
