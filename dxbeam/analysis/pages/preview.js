"use strict";
let DATA, WORDS, CLOSE, BUTTONS; // filled by start
const STOPS = 400;
const at = (id) => document.getElementById(id);
const state = { mechanism: 0, decode: "nearest", c: null, epsilon: 0, draw: 0, word: -1 };

const KINDS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };

// What dxbeam/analysis/preview/packing.py has packed.
async function unpacked(text) {
  const letters = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([letters]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const whole = await new Response(stream).arrayBuffer();
  const behind = 4 + new DataView(whole).getUint32(0, true);
  return JSON.parse(new TextDecoder().decode(whole.slice(4, behind)), (_, value) => {
    const kind = value && KINDS[value.kind];
    if (!kind) return value;
    const first = behind + value.at;
    return new kind(whole.slice(first, first + value.count * kind.BYTES_PER_ELEMENT));
  });
}

const rounded = (epsilon) => Number(epsilon.toPrecision(4));
const percent = (share) => (100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0) + " %";

// The position of an epsilon of four digits, as dxbeam/analysis/preview/epsilons.py counts them.
function position(epsilon) {
  const [digits, exponent] = epsilon.toExponential(3).split("e");
  return (Number(exponent) + 3) * 9000 + Math.round(Number(digits) * 1000) - 1000;
}

function nearest(grid, epsilon) {
  let best = 0;
  grid.forEach((value, place) => {
    if (Math.abs(Math.log(value / epsilon)) < Math.abs(Math.log(grid[best] / epsilon))) best = place;
  });
  return best;
}

const mechanism = () => DATA.mechanisms[state.mechanism];
const reading = () => mechanism().readings.find((each) => each.decode === state.decode && each.c === state.c);

function opened(each) {
  if (!each.starts) {
    each.starts = new Uint32Array(each.counts.length + 1);
    each.counts.forEach((count, row) => { each.starts[row + 1] = each.starts[row] + count; });
    each.stops = each.grid || stops(mechanism().grid);
  }
  return each;
}

function stops(grid) {
  const first = grid[0], last = grid[grid.length - 1];
  return Array.from({ length: STOPS + 1 }, (_, step) => rounded(first * (last / first) ** (step / STOPS)));
}

// The number of the word that a draw releases in place of word t.
function released(each, draw, t, place) {
  const row = draw * WORDS + t;
  let low = each.starts[row], high = each.starts[row + 1] - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (each.places[middle] <= place) low = middle; else high = middle - 1;
  }
  return each.words[low];
}

function kind(t, id) {
  if (DATA.originals[t] < 0) return "outside";
  if (id === DATA.originals[t]) return "stayed";
  return CLOSE[DATA.distinct[t]].has(id) ? "close" : "far";
}

const SAID = {
  stayed: "it stays",
  close: "it comes close: one of its 100 nearest words",
  far: "it goes far",
  outside: "it is not in the vocabulary, so what comes out says nothing of it",
};

const placeOf = (each) => (each.grid ? nearest(each.grid, state.epsilon) : position(state.epsilon));

function fill(list, rows) {
  list.replaceChildren(...rows.flatMap(([term, text]) => {
    const dt = document.createElement("dt"), dd = document.createElement("dd");
    dt.textContent = term;
    dd.textContent = text;
    return [dt, dd];
  }));
}

function paragraphs(place, sentences) {
  place.replaceChildren(...sentences.map((sentence) => {
    const p = document.createElement("p");
    p.textContent = sentence;
    return p;
  }));
}

function choices(select, values, chosen) {
  select.replaceChildren(...values.map(([value, name]) => new Option(name, value, false, String(value) === String(chosen))));
}

function settle() {
  const known = mechanism();
  const decoders = [...new Set(known.readings.map((each) => each.decode))];
  if (!decoders.includes(state.decode)) state.decode = "nearest";
  const cs = known.readings.filter((each) => each.decode === state.decode).map((each) => each.c);
  if (!cs.includes(state.c)) state.c = null;
  choices(at("mechanism"), DATA.mechanisms.map((each, number) => [number, each.parameters ? `${each.name} (${each.parameters})` : each.name]), state.mechanism);
  choices(at("decode"), decoders.map((name) => [name, name]), state.decode);
  at("decode").disabled = decoders.length < 2;
  at("c").max = cs.length - 1;
  at("c").value = cs.indexOf(state.c);
  at("c").disabled = cs.length < 2;
  const each = opened(reading());
  const first = each.stops[0], last = each.stops[each.stops.length - 1];
  state.epsilon = rounded(Math.min(Math.max(state.epsilon, first), last));
  if (each.grid) state.epsilon = each.grid[nearest(each.grid, state.epsilon)];
  state.draw %= each.draws;
  const slider = at("epsilon");
  slider.max = each.stops.length - 1;
  slider.value = nearest(each.stops, state.epsilon);
  at("typed").min = first;
  at("typed").max = last;
  at("kind").textContent = (each.grid
    ? `A grid of ${each.grid.length} values of epsilon, from ${first} to ${last}.`
    : `Every epsilon of four digits from ${first} to ${last}, from one draw of the noise.`);
  show();
}

function show() {
  const each = opened(reading()), place = placeOf(each);
  const counts = { stayed: 0, close: 0, far: 0, outside: 0 };
  let rare = 0;
  const many = DATA.rare.reduce((sum, one) => sum + one, 0) * each.draws;
  for (let draw = 0; draw < each.draws; draw++) {
    for (let t = 0; t < WORDS; t++) {
      const id = released(each, draw, t, place), what = kind(t, id);
      counts[what] += 1;
      if (DATA.rare[t] && what === "stayed") rare += 1;
      if (draw !== state.draw) continue;
      const button = BUTTONS[t];
      if (button.number !== id || button.className !== what) {
        button.number = id;
        button.textContent = DATA.lexicon[id];
        button.className = what;
        button.setAttribute("aria-label", `${DATA.lexicon[id]}, ${what}`);
      }
    }
  }
  const all = WORDS * each.draws, known = all - counts.outside;
  const draws = each.draws > 1 ? `${each.draws} draws` : "1 draw";
  at("epsilon-shown").textContent = state.epsilon;
  at("epsilon").setAttribute("aria-valuetext", `epsilon ${state.epsilon}: ${percent(counts.stayed / all)} of the words stay`);
  at("typed").value = state.epsilon;
  at("c-shown").textContent = state.c === null ? "none" : state.c;
  at("c").setAttribute("aria-valuetext", at("c-shown").textContent);
  at("draw").textContent = `${state.draw + 1} of ${each.draws}`;
  at("again").disabled = each.draws < 2;
  fill(at("shares"), [
    [`Words unchanged, in ${draws}`, percent(counts.stayed / all)],
    [`Rare words unchanged (${many / each.draws} of ${WORDS} are rare)`, many ? percent(rare / many) : "there are none"],
    ["Close", percent(counts.close / all)],
    ["Far, or outside the vocabulary", percent((counts.far + counts.outside) / all)],
  ]);
  fill(at("attackers"), attackers(counts.stayed / known));
  paragraphs(at("promise"), promise());
  at("command").textContent = command();
  at("copied").textContent = "";
  if (state.word >= 0) tell();
}

function attackers(unchanged) {
  const read = state.decode === "context" ? ": as good as reading the noisy vectors of a sentence together, with this language model" : "";
  const rows = [
    ["Guesses the most frequent word everywhere", percent(DATA.most_frequent)],
    [`Takes the released word for the original${read}`, percent(unchanged)],
  ];
  const { beliefs } = mechanism();
  const column = nearest(beliefs.grid, state.epsilon), width = beliefs.grid.length;
  let right = 0, known = 0;
  for (let t = 0; t < WORDS; t++) {
    if (DATA.originals[t] < 0) continue;
    known += DATA.belief_draws;
    right += beliefs.right[DATA.distinct[t] * width + column];
  }
  return [...rows, [`Knows the mechanism and how frequent words are, and ${SEES[beliefs.sees].rate} (at epsilon ${beliefs.grid[column]})`, percent(right / known)]];
}

const SEES = {
  word: {
    rate: "sees each released word by itself",
    who: "sees this word of the release by itself, and knows the mechanism and how frequent words are,",
    note: "These are the probabilities of the mechanism's formula. Whoever reads the words around it may know more.",
  },
  vector: {
    rate: "sees each noisy vector by itself, which no release shows",
    who: "knows how frequent words are, and sees even the noisy vector of this word,",
    note: "Whoever sees this one word of the release cannot know more of it, on average; whoever reads the words around it may.",
  },
  pairs: {
    rate: "sees each released word by itself; estimated",
    who: "sees this word of the release by itself, and has learnt from 1,000 simulated words what the mechanism makes of them,",
    note: "This is an estimate: whoever learns more, or reads the words around it, may know more.",
  },
};

// Three digits, rounded up.
function atMost(value) {
  if (value <= 0) return "0";
  const unit = 10 ** (Math.floor(Math.log10(value)) - 2);
  return String(Number((Math.ceil(value / unit) * unit).toPrecision(3)));
}

function promise() {
  const known = mechanism();
  const sentences = known.promises.map((pair) => {
    let exponent = pair.per_epsilon === null ? undefined : pair.per_epsilon * state.epsilon;
    if (exponent === undefined) { // the next epsilon of the grid promises no more than this one
      const next = known.grid.findIndex((value) => value >= state.epsilon);
      exponent = pair.exponents[next < 0 ? pair.exponents.length - 1 : next];
    }
    const who = `${pair.pair} (median distance ${pair.distance.toPrecision(2)})`;
    if (exponent === null) return `Nothing is promised between ${who}, as the guarantee does not reach so far.`;
    const factor = exponent < 9 ? atMost(Math.exp(exponent)) : `e^${atMost(exponent)}`;
    const slack = pair.delta ? `, up to a probability of ${pair.delta.toPrecision(3)}` : "";
    return `${who[0].toUpperCase()}${who.slice(1)}: whatever is released is at most ${factor} times as likely with one of them as with the other${slack}.`;
  });
  if (sentences.some((sentence) => sentence.includes("e^"))) sentences.push("So large a factor protects nothing by itself: what matters then is what attackers get.");
  if (!sentences.length) sentences.push("What is promised is not stated in distances of this vocabulary; dxbeam sanitize --dry_run prints it.");
  if (state.decode === "context" || known.name === "fluent") sentences.push("This holds of the whole released document.");
  return sentences;
}

function command() {
  const known = mechanism();
  const parts = ["dxbeam sanitize", DATA.flags, `--mechanism ${known.name} --epsilon ${state.epsilon}`];
  if (known.flags) parts.push(known.flags);
  if (state.c !== null) parts.push(`--rank_c ${state.c}`);
  if (state.decode !== "nearest") parts.push(`--decode ${state.decode}`);
  if (state.decode !== "nearest" || known.name === "fluent") parts.push(`--language_model ${DATA.language_model}`);
  return [...parts, "--output release"].join(" ");
}

const times = (count) => ["", "once", "twice"][count] || `${count} times`;

// What there is to say of the word in focus.
function tell() {
  const t = state.word, each = opened(reading()), place = placeOf(each), known = mechanism();
  const became = new Map();
  for (let draw = 0; draw < each.draws; draw++) {
    const id = released(each, draw, t, place);
    became.set(id, (became.get(id) || 0) + 1);
  }
  const own = released(each, state.draw, t, place), original = DATA.words[t];
  const stays = became.get(DATA.originals[t]) || 0;
  const others = [...became].filter(([id]) => id !== DATA.originals[t]).sort((a, b) => b[1] - a[1])
    .map(([id, count]) => (count > 1 ? `“${DATA.lexicon[id]}” (${times(count)})` : `“${DATA.lexicon[id]}”`));
  const sentences = [
    `“${original}” is released as “${DATA.lexicon[own]}”: ${SAID[kind(t, own)]}.`,
    `In the draws of this page (${each.draws}) ${stays ? `it stays ${times(stays)}` : "it does not stay"}` + (others.length ? ` and becomes ${others.join(", ")}.` : "."),
  ];
  const plain = state.decode === "nearest" && state.c === null ? "" : ", without decoder and rank resampling";
  if (DATA.originals[t] >= 0) {
    const chances = known.chances, column = nearest(chances.grid, state.epsilon);
    const stay = chances.stay[DATA.distinct[t] * chances.grid.length + column];
    const at_epsilon = `at epsilon ${chances.grid[column]}${plain}`;
    sentences.push(`How likely it is to stay: ${chances.of ? `it did in ${stay} of ${chances.of} further draws ${at_epsilon}` : `${stay} % ${at_epsilon}, by the mechanism's formula`}.`);
  }
  sentences.push(belief(t));
  paragraphs(at("word"), sentences);
}

function belief(t) {
  const { beliefs } = mechanism();
  const column = nearest(beliefs.grid, state.epsilon), cell = DATA.distinct[t] * beliefs.grid.length + column;
  const width = beliefs.shares.length / beliefs.right.length;
  const named = Array.from({ length: width }, (_, place) => {
    const one = width * cell + place;
    return `“${DATA.lexicon[beliefs.words[one]]}” (${beliefs.shares[one]} %)`;
  });
  const truth = DATA.originals[t] < 0 ? "" : ` It gives the true word ${beliefs.truth[cell]} %, and its first guess is right in ${beliefs.right[cell]} of ${DATA.belief_draws} draws.`;
  const { who, note } = SEES[beliefs.sees];
  return `An attacker who ${who} at epsilon ${beliefs.grid[column]} believes most in ${named.join(", ")}, on average.${truth} ${note}`;
}

function buttonOf(t) {
  const button = document.createElement("button");
  button.type = "button";
  button.tabIndex = t ? -1 : 0;
  button.addEventListener("focus", () => choose(t));
  button.addEventListener("mouseenter", () => choose(t));
  button.addEventListener("click", () => choose(t));
  return button;
}

function choose(t) {
  if (state.word >= 0) BUTTONS[state.word].removeAttribute("aria-current");
  BUTTONS.forEach((button, number) => { button.tabIndex = number === t ? 0 : -1; });
  BUTTONS[t].setAttribute("aria-current", "true");
  state.word = t;
  tell();
}

function start(data) {
  DATA = data;
  WORDS = DATA.words.length;
  CLOSE = DATA.close.map((ids) => new Set(ids));
  BUTTONS = DATA.words.map((_, t) => buttonOf(t));
  at("text").replaceChildren(...DATA.gaps.flatMap((gap, t) => (t < WORDS ? [gap, BUTTONS[t]] : [gap])));
  state.epsilon = DATA.mechanisms[0].grid[35];
  settle();
}

at("text").addEventListener("keydown", (event) => {
  const moves = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -WORDS, End: WORDS };
  if (!(event.key in moves) || state.word < 0) return;
  event.preventDefault();
  BUTTONS[Math.min(Math.max(state.word + moves[event.key], 0), WORDS - 1)].focus();
});
at("mechanism").addEventListener("change", (event) => { state.mechanism = Number(event.target.value); settle(); });
at("decode").addEventListener("change", (event) => { state.decode = event.target.value; settle(); });
at("epsilon").addEventListener("input", (event) => { state.epsilon = reading().stops[Number(event.target.value)]; show(); });
at("typed").addEventListener("change", (event) => {
  const value = Number(event.target.value);
  if (value > 0) state.epsilon = value;
  settle();
});
at("c").addEventListener("input", (event) => {
  const cs = mechanism().readings.filter((each) => each.decode === state.decode).map((each) => each.c);
  state.c = cs[Number(event.target.value)];
  settle();
});
at("again").addEventListener("click", () => { state.draw = (state.draw + 1) % reading().draws; show(); });
at("controls").addEventListener("submit", (event) => event.preventDefault());
at("copy").addEventListener("click", () => {
  const chosen = getSelection();
  chosen.selectAllChildren(at("command"));
  at("copied").textContent = document.execCommand("copy") ? "Copied." : "Select it and copy it by hand.";
  chosen.removeAllRanges();
});
const ready = unpacked(at("data").textContent).then(start, () => {
  at("text").textContent = "This browser is too old to unpack the page: it takes one of 2023 or later.";
});
