// The pages work without this script. It keeps an open page up to date, and adds buttons that copy commands.
"use strict";
(() => {
  const button = document.getElementById("live");
  const debounce = 300, slowest = 5000; // ms
  let source = null, timer = 0, busy = false, again = false, last = 0, paused = false;

  // copyButtons adds a button beside each command.
  function copyButtons() {
    if (!navigator.clipboard) return;
    for (const line of document.querySelectorAll(".command")) {
      if (line.querySelector("button")) continue;
      const b = document.createElement("button");
      b.type = "button";
      b.textContent = "Copy";
      b.setAttribute("aria-label", "Copy the command for " + line.querySelector("span").textContent);
      b.addEventListener("click", async () => {
        await navigator.clipboard.writeText(line.querySelector("code").textContent);
        b.textContent = "Copied";
        setTimeout(() => { b.textContent = "Copy"; }, 1500);
      });
      line.append(b);
    }
  }

  // typing reports whether a form has text that the page does not have yet.
  function typing() {
    return [...document.querySelectorAll("main input, main textarea")].some((f) => f.value !== f.defaultValue) ||
      [...document.querySelectorAll("main select")].some((f) => f === document.activeElement);
  }

  // keyOf finds an element again in a newer page.
  function keyOf(e) {
    if (!e || e === document.body) return "";
    if (e.id) return "#" + CSS.escape(e.id);
    const href = e.getAttribute("href");
    return href ? "a[href=\"" + CSS.escape(href) + "\"]" : "";
  }

  // replace puts the parts of a newer page into this one. It keeps the focus, open details and the positions.
  function replace(next) {
    const focus = keyOf(document.activeElement);
    const open = new Map([...document.querySelectorAll("details[data-key]")].map((d) => [d.dataset.key, d.open]));
    const known = new Set([...document.querySelectorAll(".event .what")].map((e) => e.textContent));
    const scrolled = [...document.querySelectorAll("main .scroll, main pre")].map((e) => [e.scrollLeft, e.scrollTop]);
    for (const id of ["health", "main"]) {
      const from = next.getElementById(id), to = document.getElementById(id);
      if (from && to && from.innerHTML !== to.innerHTML) to.replaceChildren(...from.childNodes);
    }
    const stamp = next.querySelector("footer time"), at = document.querySelector("footer time");
    if (stamp && at) at.replaceWith(stamp);
    document.title = next.title;
    for (const d of document.querySelectorAll("details[data-key]")) {
      if (open.has(d.dataset.key)) d.open = open.get(d.dataset.key);
    }
    [...document.querySelectorAll("main .scroll, main pre")].forEach((e, i) => {
      if (scrolled[i]) [e.scrollLeft, e.scrollTop] = scrolled[i];
    });
    for (const e of document.querySelectorAll(".event")) {
      if (known.size > 0 && !known.has(e.querySelector(".what").textContent)) e.classList.add("fresh");
    }
    const target = focus && document.querySelector(focus);
    if (target && target !== document.activeElement) target.focus({ preventScroll: true });
  }

  // refresh gets the page again, at most once at a time.
  async function refresh() {
    timer = 0;
    if (busy) { again = true; return; }
    if (typing()) { schedule(2000); return; }
    busy = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
      const text = await answer.text();
      if (answer.headers.get("Content-Type").startsWith("text/html") && !typing()) {
        replace(new DOMParser().parseFromString(text, "text/html"));
      }
      last = Date.now();
    } catch {
      // the stream reports that the program is gone
    } finally {
      busy = false;
    }
    if (again) { again = false; schedule(debounce); }
  }

  function schedule(ms) {
    if (source && !timer) timer = setTimeout(refresh, ms);
  }

  function start() {
    source = new EventSource("./stream");
    source.addEventListener("xds", () => schedule(debounce));
    source.addEventListener("state", () => schedule(debounce));
    source.addEventListener("open", () => {
      if (last) schedule(debounce); // the page may have missed events
      last = last || Date.now();
      button.classList.remove("lost");
      button.textContent = "Live";
    });
    source.addEventListener("error", () => {
      button.classList.add("lost");
      button.textContent = "Connection lost";
    });
  }

  function stop() {
    if (source) source.close();
    clearTimeout(timer);
    source = null;
    timer = 0;
    button.classList.remove("lost");
    button.textContent = "Live";
  }

  // A hidden page has no stream, because a browser opens only six connections to a program.
  function adjust() {
    button.setAttribute("aria-pressed", String(!paused));
    if (paused || document.hidden) stop();
    else if (!source) start();
  }

  // Ages of events change without an event.
  setInterval(() => { if (Date.now() - last > slowest) schedule(0); }, slowest);

  button.hidden = false;
  button.addEventListener("click", () => { paused = !paused; adjust(); });
  document.addEventListener("visibilitychange", adjust);
  addEventListener("pagehide", stop);
  addEventListener("pageshow", adjust);
  copyButtons();
  adjust();
})();
