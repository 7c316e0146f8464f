// The tables that this browser sits at, so that a closed page can be found again.

const NAME = "jaxgames.tables";
const MOST = 20;

export function tables() {
  try {
    const kept = JSON.parse(localStorage.getItem(NAME) ?? "[]");
    return Array.isArray(kept) ? kept : [];
  } catch {
    return [];
  }
}

export function remember(address, game) {
  if (tables().some((table) => table.address === address)) return;
  keep([{ address, game, opened: Date.now() }, ...tables()].slice(0, MOST));
}

export function forget(address) {
  keep(tables().filter((table) => table.address !== address));
}

function keep(kept) {
  try {
    localStorage.setItem(NAME, JSON.stringify(kept));
  } catch {
    // A browser that keeps nothing still plays.
  }
}
