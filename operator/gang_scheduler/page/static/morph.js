// Makes an element equal to another one. What is in both stays the same element, so focus, scroll,
// open details and the place on the screen stay as well.
const OF_THE_USER = new Set(["open"]);

const keyOf = (node) => node.id || node.dataset?.key || "";
const isSpace = (node) => node.nodeType === Node.TEXT_NODE && !node.nodeValue.trim();
const isAlike = (one, other) => one.nodeName === other.nodeName && keyOf(one) === keyOf(other);

export function morph(old, fresh) {
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  update(old, fresh);
  if (focused && focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
}

function update(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeType !== Node.ELEMENT_NODE) {
    old.nodeValue = fresh.nodeValue;
    return;
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value && !OF_THE_USER.has(name)) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !OF_THE_USER.has(name)) old.removeAttribute(name);
  }
  children(old, fresh);
}

function children(old, fresh) {
  const known = new Map([...old.children].map((each) => [keyOf(each), each]));
  const wanted = new Set([...fresh.children].map(keyOf));
  const isGone = (node) => keyOf(node) !== "" && !wanted.has(keyOf(node));
  let at = old.firstChild;
  const drop = () => {
    const next = at.nextSibling;
    at.remove();
    at = next;
  };
  for (const child of [...fresh.childNodes]) {
    while (at && (isGone(at) || (keyOf(child) && isSpace(at)))) drop();
    const match = keyOf(child) ? known.get(keyOf(child)) : at;
    if (!match || !isAlike(match, child)) {
      old.insertBefore(document.importNode(child, true), at);
      continue;
    }
    known.delete(keyOf(child));
    if (match === at) at = at.nextSibling;
    else old.insertBefore(match, at);
    update(match, child);
  }
  while (at) drop();
}
