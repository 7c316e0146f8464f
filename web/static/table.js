// One table, seen from one chair. The server draws; the page listens to what is marked in the drawing.

import * as memory from "./memory.js";

export function el(name, attributes = {}, ...inside) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === false || value === undefined) continue;
    if (key === "checked" || key === "selected" || key === "disabled") element[key] = true;
    else element.setAttribute(key, value);
  }
  element.append(...inside);
  return element;
}

const PRESSED = "[data-action], [data-pick]";

export class Table {
  constructor(main, key, others, games, names, say) {
    Object.assign(this, { key, games, names, say, address: location.hash, shown: null, left: false, wait: 300 });
    this.felt = el("div", { class: "felt", "aria-label": "The table" });
    this.state = el("p", { class: "state", role: "status", "aria-live": "polite" }, "Sitting down ...");
    this.log = el("ol", { class: "log", "aria-label": "Moves so far" });
    this.side = el("div", { class: "side", "aria-live": "polite" });
    this.scores = el("table", { class: "scores" });
    this.moves = el("div", { class: "moves", role: "group", "aria-label": "Your moves" });
    this.buttons = this.makeButtons();
    const links = others.map((text) => text.split(":")).map(([seat, secret]) => this.link(seat, secret));
    const keys = el("p", { class: "small keys" }, "Keys: arrows and Enter choose a move, U takes back, H asks for a hint.");
    main.replaceChildren(el("div", { class: "table" },
      el("section", { class: "play" }, this.state, this.felt, this.moves, this.buttons),
      el("aside", {}, ...links, this.scores, this.side, el("h2", {}, "Moves"), this.log, keys)));
    this.felt.addEventListener("click", (event) => this.pressed(event.target));
    this.onKey = (event) => this.keyed(event);
    this.onPointer = () => { this.byKeyboard = false; };
    document.addEventListener("keydown", this.onKey);
    document.addEventListener("pointerdown", this.onPointer);
    this.connect();
  }

  makeButtons() {
    const make = (id, label, act) => {
      const button = el("button", { id, type: "button" }, label);
      button.addEventListener("click", act);
      this[id] = button;
      return button;
    };
    this.adviser = el("select", { id: "adviser", "aria-label": "Who gives the hint" });
    const buttons = el("div", { class: "buttons" },
      make("undo", "Undo", () => this.send({ type: "undo" })),
      make("hint", "Hint", () => this.ask({ type: "hint", agent: this.adviser.value })), this.adviser,
      make("belief", "What can I know?", () => this.ask({ type: "belief" })),
      make("pause", "Pause", () => this.send({ type: "pause", paused: !this.shown.paused })),
      make("again", "Play again", () => this.send({ type: "again" })),
      make("save", "Save the record", () => this.send({ type: "record" })));
    buttons.hidden = true;
    return buttons;
  }

  link(seat, secret) {
    const address = new URL(`#${new URLSearchParams({ key: secret })}`, location.href).href;
    const field = el("input", { readonly: "", value: address, "aria-label": `Link for seat ${seat}` });
    field.addEventListener("focus", () => field.select());
    const copy = el("button", { type: "button" }, "Copy");
    copy.addEventListener("click", async () => {
      field.select();
      await navigator.clipboard?.writeText(address);
      this.say("The link is copied: whoever opens it sits there.");
    });
    return el("p", { class: "invite" }, el("span", {}, `Seat ${seat}: send this link`), field, copy);
  }

  connect() {
    this.socket = new WebSocket(`ws://${location.host}/socket`);
    this.socket.onopen = () => {
      this.wait = 300;
      this.send({ type: "sit", key: this.key });
    };
    this.socket.onmessage = (event) => this.heard(JSON.parse(event.data));
    this.socket.onclose = () => {
      if (this.left) return;
      this.state.textContent = "The connection is lost; trying again ...";
      setTimeout(() => this.left || this.connect(), this.wait);
      this.wait = Math.min(10000, 2 * this.wait);
    };
  }

  leave() {
    this.left = true;
    this.socket.close();
    document.removeEventListener("keydown", this.onKey);
    document.removeEventListener("pointerdown", this.onPointer);
  }

  send(message) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  ask(question) {
    this.send(question);
    this.side.replaceChildren(el("p", { class: "small" }, "Thinking; the first time an agent is asked, it compiles ..."));
  }

  heard(message) {
    if (message.type === "table") this.show(message);
    else if (message.type === "hint") this.showHint(message);
    else if (message.type === "belief") this.showBelief(message);
    else if (message.type === "record") this.download(message.line);
    else if (message.type === "error") this.refused(message.text);
    else if (message.type === "ended") this.ended(message.text);
  }

  refused(text) {
    this.say(text, true);
    this.side.replaceChildren();
    if (!this.shown) this.ended(text); // the link opens nothing: there is nobody to try again with
  }

  ended(text) {
    this.leave();
    memory.forget(this.address);
    this.state.textContent = text;
    this.state.classList.remove("mine");
    this.moves.replaceChildren(el("a", { href: "#" }, "Open a new table"));
    this.buttons.hidden = true;
  }

  show(table) {
    const isNew = !this.shown || this.shown.step !== table.step || this.shown.over !== table.over;
    const isSame = this.shown?.picture === table.picture;
    memory.remember(this.address, table.game);
    this.shown = table;
    document.title = `${table.turn === table.seat && !table.over ? "Your move - " : ""}${this.names[table.game][0]} - jaxgames`;
    this.state.textContent = this.sentence(table);
    this.state.classList.toggle("mine", this.isMine());
    if (table.waiting) return;
    if (isNew) this.side.replaceChildren();
    if (!isSame) this.draw(table);
    Object.assign(this.felt.dataset, { step: table.step, mine: this.isMine(), over: table.over });
    this.showScores(table);
    this.showLog(table);
    this.showButtons(table);
    if (isNew && this.isMine() && this.byKeyboard) this.pressable()[0]?.focus();
  }

  isMine() {
    return this.shown.seat !== null && this.shown.turn === this.shown.seat && !this.shown.over;
  }

  draw(table) {
    this.felt.innerHTML = table.picture; // drawn by our own server from numbers: it holds no text of anybody's
    const svg = this.felt.querySelector("svg");
    svg.removeAttribute("width");
    svg.removeAttribute("height");
    const drawn = new Set([...svg.querySelectorAll("[data-action]")].map((move) => Number(move.dataset.action)));
    this.moves.replaceChildren(...table.moves.filter(([action]) => !drawn.has(action)).map(([action, name]) => {
      const button = el("button", { type: "button", "data-action": action }, name);
      button.addEventListener("click", () => this.play(action));
      return button;
    }));
  }

  sentence(table) {
    if (table.waiting) return "The cards are being dealt; the first game compiles its rules ...";
    if (table.over) {
      const won = table.winners.map((seat) => (seat === table.seat ? "you" : `seat ${seat}`));
      return won.length ? `The game is over: ${won.join(" and ")} won.` : "The game is over; nobody won.";
    }
    if (table.turn === table.seat) return "Your move.";
    return `Seat ${table.turn} (${table.seats[table.turn].name}) is thinking ...`;
  }

  showScores(table) {
    const { agents } = this.games[table.game];
    this.scores.replaceChildren(el("caption", {}, "Scores"), el("tbody", {}, ...table.seats.map(({ name }, seat) =>
      el("tr", { class: seat === table.turn ? "turn" : null },
        el("th", { scope: "row" }, `${seat}: ${name}`,
          el("small", {}, agents.find(({ spec }) => spec === name)?.strength ?? "")),
        el("td", {}, String(Math.round(100 * table.scores[seat]) / 100))))));
  }

  showLog(table) {
    this.log.replaceChildren(...table.log.map(([seat, name]) =>
      el("li", { class: seat === table.seat ? "own" : null }, `${seat === table.seat ? "you" : `seat ${seat}`}: ${name}`)));
    this.log.scrollTop = this.log.scrollHeight;
  }

  showButtons(table) {
    this.buttons.hidden = false;
    this.undo.hidden = table.people !== 1;
    this.undo.disabled = !table.log.some(([seat]) => seat === table.seat);
    this.hint.hidden = this.adviser.hidden = this.belief.hidden = table.seat === null || table.over;
    this.hint.disabled = !this.isMine();
    this.pause.hidden = table.people !== 0 || table.over;
    this.pause.textContent = table.paused ? "Go on" : "Pause";
    this.again.hidden = this.save.hidden = !table.over;
    if (this.adviser.options.length) return;
    const agents = this.games[table.game].agents.filter(({ spec, num_players: number, options }) =>
      spec !== "random" && (number === null || number === table.seats.length) &&
      Object.entries(options).every(([name, value]) => JSON.stringify(value) === JSON.stringify(table.options[name])));
    const usual = agents.findLast(({ spec }) => spec.startsWith("ppo")) ?? agents.findLast(({ spec }) => spec.startsWith("rule"));
    this.adviser.replaceChildren(...agents.map((agent) =>
      el("option", { value: agent.spec, selected: agent === usual, title: agent.strength }, agent.spec)));
  }

  pressable() {
    return [...this.felt.querySelectorAll(PRESSED), ...this.moves.querySelectorAll("button")]
      .filter((element) => getComputedStyle(element).display !== "none");
  }

  keyed(event) {
    const { target, key } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, select, textarea")) return;
    this.byKeyboard = true;
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[key];
    if (step && this.isMine()) {
      const moves = this.pressable();
      const at = moves.indexOf(document.activeElement);
      moves.at(at < 0 ? (step > 0 ? 0 : -1) : (at + step) % moves.length)?.focus();
    } else if ((key === "Enter" || key === " ") && this.felt.contains(target)) this.pressed(target);
    else if (key === "u" && !this.undo.hidden && !this.undo.disabled) this.undo.click();
    else if (key === "h" && !this.hint.hidden && !this.hint.disabled) this.hint.click();
    else return;
    event.preventDefault();
  }

  pressed(target) {
    const choice = target.closest?.("[data-pick]");
    const move = target.closest?.("[data-action]");
    if (move) this.play(Number(move.dataset.action));
    else if (choice) {
      const svg = this.felt.querySelector("svg");
      if (svg.dataset.picked === choice.dataset.pick) delete svg.dataset.picked;
      else svg.dataset.picked = choice.dataset.pick;
      if (this.byKeyboard) this.pressable().find((next) => next.dataset.with === svg.dataset.picked)?.focus();
    }
  }

  play(action) {
    this.send({ type: "move", action, step: this.shown.step });
  }

  showHint(hint) {
    if (hint.step !== this.shown.step) return;
    const bars = hint.moves.map(([action, name, share]) => {
      const button = el("button", { type: "button", class: "bar", style: `--share: ${100 * share}%` },
        el("span", {}, name), el("span", {}, `${Math.round(100 * share)} %`));
      button.addEventListener("click", () => this.play(action));
      return el("li", {}, button);
    });
    this.side.replaceChildren(el("h2", {}, `${hint.agent} would play`), el("ul", { class: "bars" }, ...bars));
  }

  showBelief(belief) {
    if (belief.step !== this.shown.step) return;
    const head = el("tr", {}, el("td"), ...belief.columns.map((name) => el("th", { scope: "col" }, name)));
    const rows = belief.rows.map(([name, shares]) => el("tr", {}, el("th", { scope: "row" }, name),
      ...shares.map((share) => el("td", { style: `--share: ${Math.round(100 * share)}%`, title: `${(100 * share).toFixed(1)} %` },
        share > 0.005 ? String(Math.round(100 * share)) : ""))));
    this.side.replaceChildren(el("h2", {}, belief.title),
      el("div", { class: "belief" }, el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows))),
      el("p", { class: "small" }, "In percent."));
  }

  download(line) {
    const address = URL.createObjectURL(new Blob([line + "\n"], { type: "application/json" }));
    const anchor = el("a", { href: address, download: `${this.shown.game}.jsonl` });
    anchor.click();
    URL.revokeObjectURL(address);
    this.say("The record is saved: jaxgames replay shows it.");
  }
}
