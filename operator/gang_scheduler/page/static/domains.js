// The tree of the domains of a map: each has its part of the nodes, from `first` on.
export function treeOf(found) {
  const root = { name: "", path: [], parts: [], first: 0, number: 0 };
  let first = 0;
  for (const { path, nodes } of found.domains) {
    let at = root;
    for (const name of path ?? ["outside of the tree"]) {
      let next = at.parts.at(-1);
      if (!next || next.name !== name) {
        next = { name, path: path === null ? ["-"] : [...at.path, name], parts: [], first, number: 0 };
        at.parts.push(next);
      }
      at = next;
      at.number += nodes;
    }
    root.number += nodes;
    first += nodes;
  }
  return root;
}

// An amount as text.
export const rounded = (amount) => Math.round(amount * 100) / 100;

// Words for the state of a node.
export const STATES = { ready: "", cordoned: ", cordoned", notReady: ", not ready" };
