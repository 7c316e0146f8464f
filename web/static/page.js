// The page: choose a game and who plays, or sit at a table. Which of the two is in the address, behind the #.

import { Table, el } from "./table.js";
import * as memory from "./memory.js";

const NAMES = {
  skullking: ["Skull King", "Bid your tricks, then take exactly as many."],
  skyjo: ["Skyjo", "Few points win, and your own cards lie face down."],
  saboteur: ["Saboteur", "Dig for gold, among people who may not want you to."],
  schafkopf: ["Schafkopf", "Call an ace: its owner is your secret partner."],
  magictrick: ["Magic Trick", "Nobody sees a value, not even of their own cards."],
};
const OTHER = "other";

const main = document.getElementById("main");
const notice = document.getElementById("notice");
let games = null;
let table = null;

function say(text, isError = false) {
  notice.textContent = text;
  notice.className = text ? (isError ? "shown bad" : "shown") : "";
  clearTimeout(say.timer);
  if (text) say.timer = setTimeout(() => say(""), 6000);
}

window.addEventListener("hashchange", route);
start();

async function start() {
  const answer = await fetch("games.json");
  games = await answer.json();
  route();
}

function route() {
  const where = new URLSearchParams(location.hash.slice(1));
  if (table) table.leave();
  table = null;
  if (where.has("key")) {
    table = new Table(main, where.get("key"), where.getAll("with"), games, NAMES, say);
  } else {
    showLobby(where.get("game") in games ? where.get("game") : "skullking");
  }
}

function showLobby(game) {
  document.title = "jaxgames";
  const about = games[game];
  const usual = about.options.num_players;
  const count = el("select", { id: "count" },
    ...about.players.map((n) => el("option", { value: n, selected: n === usual }, String(n))));
  const seats = el("div", { class: "seats" });
  const options = el("div", { class: "options" }, ...Object.entries(about.options)
    .filter(([name]) => name !== "num_players").map(([name, value]) => optionField(name, value)));
  const drawSeats = () => {
    const before = chosenSeats(seats);
    const number = Number(count.value);
    const agents = about.agents.filter((agent) => agent.num_players === null || agent.num_players === number);
    seats.replaceChildren(...Array.from({ length: number }, (_, seat) => seatField(seat, agents, before[seat])));
  };
  seats.addEventListener("change", (event) => {
    const needs = about.agents.find(({ spec }) => spec === event.target.value)?.options ?? {};
    for (const [name, value] of Object.entries(needs)) writeOption(options.querySelector(`#option-${name}`), value);
    if (Object.keys(needs).length) say(`${event.target.value} was trained for other options: they are set now.`);
  });
  count.addEventListener("change", drawSeats);
  drawSeats();
  const file = el("input", { type: "file", id: "record", accept: ".json,.jsonl" });
  const form = el("form", { class: "lobby" },
    el("label", { for: "count" }, "Players ", count),
    el("fieldset", {}, el("legend", {}, "Who sits where"), seats),
    el("details", {}, el("summary", {}, "Rules and options"), options),
    el("button", { class: "primary", type: "submit", id: "deal" }, "Deal"),
    el("details", {}, el("summary", {}, "Go on from a saved game"), el("label", { for: "record" }, "Record ", file)));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const specs = chosenSeats(seats);
    const chosen = { num_players: Number(count.value) };
    for (const field of options.querySelectorAll("[data-option]")) {
      const value = readOption(field);
      if (JSON.stringify(value) !== field.dataset.usual) chosen[field.dataset.option] = value;
    }
    const message = file.files.length
      ? { type: "load", record: (await file.files[0].text()).trim(), seats: specs }
      : { type: "open", game, options: chosen, seats: specs };
    openTable(message);
  });
  const tabs = Object.keys(NAMES).filter((name) => name in games).map((name) =>
    el("a", { href: `#game=${name}`, class: name === game ? "tab here" : "tab", "aria-current": name === game ? "page" : null },
      NAMES[name][0]));
  main.replaceChildren(el("nav", { class: "tabs", "aria-label": "Games" }, ...tabs),
    el("h1", {}, NAMES[game][0]), el("p", { class: "lead" }, NAMES[game][1]), form, ...openTables());
}

function openTables() {
  const links = memory.tables().map(({ address, game, opened }) =>
    el("li", {}, el("a", { href: address }, `${NAMES[game][0]}, ${new Date(opened).toLocaleTimeString()}`)));
  return links.length ? [el("h2", {}, "Tables that you sit at"), el("ul", { class: "tables" }, ...links)] : [];
}

function seatField(seat, agents, before) {
  // A search compiles for a minute before its first move: it is there to be chosen, not to be waited for unasked.
  const plain = agents.filter(({ spec, options }) => /^(ppo|rule)/.test(spec) && !Object.keys(options).length);
  const usual = before ?? (seat === 0 ? "person" : (plain.at(-1) ?? agents[0]).spec);
  const isListed = usual === "person" || agents.some(({ spec }) => spec === usual);
  const id = `seat${seat}`;
  const choice = (value, label) => el("option", { value, selected: value === (isListed ? usual : OTHER) }, label);
  const select = el("select", { id },
    choice("person", seat === 0 ? "you" : "another person, by a link"),
    ...agents.map(({ spec, strength }) => choice(spec, `${spec}: ${strength}`)),
    choice(OTHER, "another agent, by its name"));
  const name = el("input", { type: "text", maxlength: 80, value: isListed ? "" : usual, placeholder: "pimc:10,40",
    "aria-label": `Name of the agent at seat ${seat}` });
  const strength = el("small", {});
  const update = () => {
    name.hidden = select.value !== OTHER;
    strength.textContent = agents.find(({ spec }) => spec === select.value)?.strength ?? "";
  };
  select.addEventListener("change", update);
  update();
  return el("div", { class: "seat" }, el("label", { for: id }, `Seat ${seat}`), el("div", {}, select, name, strength));
}

function chosenSeats(seats) {
  return [...seats.querySelectorAll(".seat")].map((seat) => {
    const value = seat.querySelector("select").value;
    return value === OTHER ? seat.querySelector("input").value.trim() || "random" : value;
  });
}

function optionField(name, value) {
  const usual = JSON.stringify(value);
  const shared = { "data-option": name, "data-usual": usual, id: `option-${name}` };
  const field = typeof value === "boolean"
    ? el("input", { ...shared, type: "checkbox" })
    : el("input", { ...shared, type: "text" });
  writeOption(field, value);
  return el("label", { for: shared.id }, el("span", {}, name.replaceAll("_", " ")), field);
}

function writeOption(field, value) {
  if (field.type === "checkbox") field.checked = value;
  else field.value = typeof value === "string" ? value : JSON.stringify(value);
}

function readOption(field) {
  if (field.type === "checkbox") return field.checked;
  try {
    return JSON.parse(field.value);
  } catch {
    return field.value;
  }
}

function openTable(message) {
  const socket = new WebSocket(`ws://${location.host}/socket`);
  socket.onopen = () => socket.send(JSON.stringify(message));
  socket.onmessage = (event) => {
    const answer = JSON.parse(event.data);
    if (answer.type === "error") say(answer.text, true);
    if (answer.type !== "opened") return;
    const [mine, ...others] = Object.entries(answer.links);
    const where = new URLSearchParams({ key: mine[1] });
    for (const [seat, key] of others) where.append("with", `${seat}:${key}`);
    location.hash = where.toString();
    socket.close();
  };
  socket.onerror = () => say("The server does not answer.", true);
}
