// One table, seen from one chair. The server draws; the page listens to what is marked in the drawing.

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

export class Table {
  constructor(main, key, others, games, names, say) {
    Object.assign(this, { key, games, names, say, shown: null, left: false, wait: 300 });
    this.felt = el("div", { class: "felt", "aria-label": "The table" });
    this.state = el("p", { class: "state", role: "status", "aria-live": "polite" }, "Sitting down ...");
    this.log = el("ol", { class: "log", "aria-label": "Moves so far" });
    this.side = el("div", { class: "side" });
    this.scores = el("table", { class: "scores" });
    this.moves = el("div", { class: "moves", role: "group", "aria-label": "Your moves" });
    const buttons = this.makeButtons();
    const links = others.map((text) => text.split(":")).map(([seat, secret]) => this.link(seat, secret));
    main.replaceChildren(el("div", { class: "table" },
      el("section", { class: "play" }, this.state, this.felt, this.moves, buttons),
      el("aside", {}, ...links, this.scores, this.side, el("h2", {}, "Moves"), this.log)));
    this.felt.addEventListener("click", (event) => this.pressed(event.target));
    this.felt.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        this.pressed(event.target);
      }
    });
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
    return el("div", { class: "buttons" },
      make("undo", "Undo", () => this.send({ type: "undo" })),
      make("hint", "Hint", () => this.send({ type: "hint", agent: this.adviser.value })), this.adviser,
      make("belief", "What can I know?", () => this.send({ type: "belief" })),
      make("pause", "Pause", () => this.send({ type: "pause", paused: !this.shown.paused })),
      make("again", "Play again", () => this.send({ type: "again" })),
      make("save", "Save the record", () => this.send({ type: "record" })));
  }

  link(seat, secret) {
    const address = new URL(`#${new URLSearchParams({ key: secret })}`, location.href).href;
    const field = el("input", { readonly: "", value: address, "aria-label": `Link for seat ${seat}` });
    field.addEventListener("focus", () => field.select());
    return el("p", { class: "invite" }, `Link for seat ${seat}: `, field);
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
      setTimeout(() => this.connect(), this.wait);
      this.wait = Math.min(10000, 2 * this.wait);
    };
  }

  leave() {
    this.left = true;
    this.socket.close();
  }

  send(message) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  heard(message) {
    if (message.type === "table") this.show(message);
    else if (message.type === "hint") this.showHint(message);
    else if (message.type === "belief") this.showBelief(message);
    else if (message.type === "record") this.download(message.line);
    else if (message.type === "error") this.say(message.text, true);
  }

  show(table) {
    const isNew = !this.shown || this.shown.step !== table.step || this.shown.over !== table.over;
    this.shown = table;
    document.title = `${this.names[table.game][0]} - jaxgames`;
    this.state.textContent = this.sentence(table);
    this.state.classList.toggle("mine", table.turn === table.seat && !table.over && table.seat !== null);
    if (table.waiting) return;
    if (isNew) this.side.replaceChildren();
    const picked = this.felt.querySelector("svg")?.dataset.picked;
    this.felt.innerHTML = table.picture; // drawn by our own server from numbers: it holds no text of anybody's
    const svg = this.felt.querySelector("svg");
    svg.removeAttribute("width");
    svg.removeAttribute("height");
    if (picked && svg.querySelector(`[data-pick="${CSS.escape(picked)}"]`)) svg.dataset.picked = picked;
    const reachable = new Set([...svg.querySelectorAll("[data-action]")].map((move) => Number(move.dataset.action)));
    this.moves.replaceChildren(...table.moves.filter(([action]) => !reachable.has(action)).map(([action, name]) => {
      const button = el("button", { type: "button", "data-action": action }, name);
      button.addEventListener("click", () => this.play(action));
      return button;
    }));
    this.showScores(table);
    this.showLog(table);
    this.showButtons(table);
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
    this.scores.replaceChildren(el("caption", {}, "Scores"), ...table.seats.map((seat, i) =>
      el("tr", { class: i === table.turn ? "turn" : null }, el("th", { scope: "row" }, `${i}: ${seat.name}`),
        el("td", {}, String(Math.round(100 * table.scores[i]) / 100)))));
  }

  showLog(table) {
    this.log.replaceChildren(...table.log.map(([seat, name]) =>
      el("li", { class: seat === table.seat ? "own" : null }, `${seat === table.seat ? "you" : `seat ${seat}`}: ${name}`)));
    this.log.scrollTop = this.log.scrollHeight;
  }

  showButtons(table) {
    const isMine = table.turn === table.seat && !table.over && table.seat !== null;
    this.undo.hidden = table.people !== 1;
    this.undo.disabled = !table.log.some(([seat]) => seat === table.seat);
    this.hint.hidden = this.adviser.hidden = this.belief.hidden = table.seat === null;
    this.hint.disabled = !isMine;
    this.belief.disabled = table.over;
    this.pause.hidden = table.people !== 0 || table.over;
    this.pause.textContent = table.paused ? "Go on" : "Pause";
    this.again.hidden = this.save.hidden = !table.over;
    if (!this.adviser.options.length) {
      const agents = this.games[table.game].agents.filter((spec) => spec !== "random");
      this.adviser.replaceChildren(...agents.map((spec, i) => el("option", { value: spec, selected: spec.startsWith("ppo") || i === 0 }, spec)));
    }
  }

  pressed(target) {
    const choice = target.closest?.("[data-pick]");
    const move = target.closest?.("[data-action]");
    if (move) this.play(Number(move.dataset.action));
    else if (choice) {
      const svg = this.felt.querySelector("svg");
      if (svg.dataset.picked === choice.dataset.pick) delete svg.dataset.picked;
      else svg.dataset.picked = choice.dataset.pick;
    }
  }

  play(action) {
    this.send({ type: "move", action, step: this.shown.step });
  }

  showHint(hint) {
    if (hint.step !== this.shown.step) return;
    const bars = hint.moves.map(([action, name, chance]) => {
      const button = el("button", { type: "button", class: "bar", style: `--share: ${100 * chance}%` },
        el("span", {}, name), el("span", {}, `${Math.round(100 * chance)} %`));
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
      el("p", { class: "small" }, "In percent, from worlds you cannot tell from the true one."));
  }

  download(line) {
    const address = URL.createObjectURL(new Blob([line + "\n"], { type: "application/json" }));
    const anchor = el("a", { href: address, download: `${this.shown.game}.jsonl` });
    anchor.click();
    URL.revokeObjectURL(address);
    this.say("The record is saved: jaxgames replay shows it.");
  }
}
