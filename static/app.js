// What the pages gain when scripts run. Each of them works without: nothing here is the only way to do something.
(() => {
  "use strict";

  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const html = document.documentElement;
  html.classList.add("scripted");

  const say = (text) => {
    const region = $("#announcer");
    if (region) region.textContent = text;
  };

  // ---- copy buttons ----

  const copy = async (button) => {
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      say("Copied");
      button.classList.add("done");
      setTimeout(() => button.classList.remove("done"), 1500);
    } catch {
      say("Copying is not allowed here. Select the text instead.");
    }
  };

  // ---- relative times: the words of views.Relative ----

  const span = (seconds) => {
    if (seconds < 60) return `${Math.floor(seconds)} s`;
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
    if (seconds < 172800) return `${Math.floor(seconds / 3600)} h`;
    return `${Math.floor(seconds / 86400)} days`;
  };
  // The server's clock counts, not the browser's: pages carry the instant at which they were made.
  const madeAt = Date.parse(html.dataset.now);
  const loadedAt = performance.now();
  const now = () => madeAt + (performance.now() - loadedAt);

  const refreshTimes = () => {
    for (const element of $$("[data-rel]")) {
      const seconds = (Date.parse(element.dataset.rel) - now()) / 1000;
      const text = Math.abs(seconds) < 1 ? "now" : seconds < 0 ? `${span(-seconds)} ago` : `in ${span(seconds)}`;
      if (element.textContent !== text) element.textContent = text;
    }
    for (const element of $$("[data-left]")) {
      const seconds = (Date.parse(element.dataset.left) - now()) / 1000;
      const text = seconds <= 0 ? "no time left" : seconds < 3600 && seconds >= 60
        ? `${Math.floor(seconds / 60)} min ${String(Math.floor(seconds % 60)).padStart(2, "0")} s` : span(seconds);
      if (element.textContent !== text) element.textContent = text;
    }
  };

  // ---- forms: typed text is not lost by accident, and one press is one request ----

  let leaving = false;
  const dirty = () => $$("form[data-guard]").some((form) => form.dataset.dirty === "yes");

  addEventListener("input", (event) => {
    const form = event.target.closest?.("form[data-guard]");
    if (form) form.dataset.dirty = "yes";
    const counted = event.target.closest?.("[maxlength][data-count]");
    if (counted) $(`#${counted.dataset.count}`).textContent = `${counted.maxLength - counted.value.length} characters left`;
  });
  addEventListener("submit", (event) => {
    const form = event.target;
    if (form.matches("[data-live-form]")) {
      event.preventDefault();
      toggleLive(form);
      return;
    }
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    leaving = true;
    if (form.method === "post") {
      form.dataset.sent = "yes";
      setTimeout(() => delete form.dataset.sent, 8000);
    }
  });
  addEventListener("pageshow", () => {
    leaving = false;
    for (const form of $$("form[data-sent]")) delete form.dataset.sent;
  });
  addEventListener("beforeunload", (event) => {
    if (dirty() && !leaving) event.preventDefault();
  });

  // A part of a form that belongs to one choice is shown with it: <div data-when="verdict=not_sent">. A part that is put away goes back to
  // what it was when the page came, so that nothing unseen is sent along.
  const dependents = () => {
    for (const part of $$("[data-when]")) {
      const [name, value] = part.dataset.when.split("=");
      const chosen = $(`input[name="${name}"]:checked`, part.closest("form"));
      part.hidden = chosen?.value !== value;
      if (part.hidden) for (const radio of $$("input[type=radio]", part)) radio.checked = radio.defaultChecked;
    }
  };

  // ---- choosing rows ----

  const countChosen = () => {
    for (const bar of $$("[data-chosen-bar]")) {
      const boxes = $$("input[data-row]");
      const chosen = boxes.filter((box) => box.checked).length;
      $("[data-chosen]", bar).textContent = `${chosen} of ${boxes.length} on this page chosen`;
      const all = $("input[data-all]");
      if (all) {
        all.checked = chosen > 0 && chosen === boxes.length;
        all.indeterminate = chosen > 0 && chosen < boxes.length;
      }
    }
  };
  addEventListener("change", (event) => {
    if (event.target.matches("input[data-all]")) {
      for (const box of $$("input[data-row]")) box.checked = event.target.checked;
    }
    if (event.target.matches("select[data-submit]")) event.target.form.requestSubmit();
    countChosen();
    dependents();
  });

  // ---- live: a [data-live] element asks for its newer self; htmx fetches and swaps it (204: nothing is new) ----

  const first = 5000;
  const slowest = 30000;
  let wait = first;
  let timer;
  const live = () => html.dataset.live === "on";
  const busy = () => document.hidden || dirty() || $$("input[data-row]:checked").length > 0;

  const tick = () => {
    clearTimeout(timer);
    const targets = $$("[data-live]").filter((element) => element !== html);
    if (!live() || targets.length === 0) return;
    if (!busy()) {
      for (const element of targets) element.dispatchEvent(new Event("tick"));
      wait = Math.min(wait * 1.3, slowest);
    }
    timer = setTimeout(tick, wait);
  };
  const start = () => {
    wait = first;
    clearTimeout(timer);
    timer = setTimeout(tick, wait);
  };
  // The switch works at once and is remembered in the background; without scripts it is a form.
  const toggleLive = (form) => {
    const button = $("button", form);
    const on = !live();
    const body = new URLSearchParams({ live: on ? "on" : "off", back: form.elements.back.value });
    html.dataset.live = on ? "on" : "off";
    button.setAttribute("aria-pressed", String(on));
    button.value = on ? "off" : "on";
    $("[data-live-word]", form).textContent = on ? "on" : "off";
    say(on ? "Live updates on" : "Live updates off");
    fetch(form.action, { method: "POST", body, redirect: "manual" }).catch(() => say("The choice could not be stored"));
    start();
  };
  addEventListener("htmx:after:swap", () => {
    start();
    refreshTimes();
    const note = $("[data-announce]");
    if (note) say(note.dataset.announce);
  });
  addEventListener("htmx:response:error", (event) => {
    const status = event.detail?.ctx?.response?.status;
    if (status !== 401 && status !== 403) return;
    html.dataset.live = "off";
    const notice = $("#session-ended");
    if (notice) notice.hidden = false;
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) start(); });

  // ---- keys ----

  const sheet = () => $("dialog#keys");
  const rows = () => $$("[data-rows] > tr, [data-rows] > li");
  const step = (by) => {
    const all = rows();
    if (all.length === 0) return;
    const at = all.findIndex((row) => row.contains(document.activeElement));
    const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + by))];
    $("a[href], button", next)?.focus();
  };
  const currentRow = () => rows().find((row) => row.contains(document.activeElement));
  const press = (selector) => {
    const target = $(selector);
    if (target) target.click();
    return Boolean(target);
  };

  const keys = {
    "?": () => { sheet()?.showModal(); return true; },
    "/": () => { $("#q")?.focus(); return true; },
    j: () => { step(1); return true; },
    k: () => { step(-1); return true; },
    x: () => { const box = currentRow() && $("input[data-row]", currentRow()); box?.click(); return Boolean(box); },
    "[": () => press("a[data-key='prev']"),
    "]": () => press("a[data-key='next']"),
    c: () => { const row = currentRow(); return row ? Boolean($("[data-key='claim']", row)?.click() ?? true) : press("[data-key='claim']"); },
    l: () => press("[data-key='live']"),
    ".": () => press("main [data-copy]"),
  };
  let going = false;

  addEventListener("keydown", (event) => {
    if (html.dataset.keys === "off" || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest("input, select, textarea, [contenteditable], dialog[open]")) return;
    if (going) {
      going = false;
      const link = $(`nav a[data-go="${CSS.escape(event.key)}"]`);
      if (link) {
        event.preventDefault();
        link.click();
        return;
      }
    }
    if (event.key === "g") {
      going = true;
      setTimeout(() => { going = false; }, 1200);
      return;
    }
    if (Object.hasOwn(keys, event.key) && keys[event.key]()) event.preventDefault();
  });

  // ---- buttons ----

  addEventListener("click", (event) => {
    const button = event.target.closest?.("button");
    if (button?.dataset.copy !== undefined) copy(button);
    if (button?.matches("[data-close]")) button.closest("dialog")?.close();
    if (button?.matches("[data-sheet]")) sheet()?.showModal();
    if (button?.matches("[data-print]")) print();
    for (const open of $$("details[data-menu][open]")) if (!open.contains(event.target)) open.open = false;
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const open of $$("details[data-menu][open]")) {
      open.open = false;
      $("summary", open).focus();
    }
  });

  // What a person revealed hides again by itself.
  for (const element of $$("[data-hide-after]")) {
    setTimeout(() => {
      element.textContent = "Hidden again";
      say("The number is hidden again");
    }, Number(element.dataset.hideAfter) * 1000);
  }

  $("[data-focus]")?.focus();
  let printed = [];
  addEventListener("beforeprint", () => {
    printed = $$("main details:not([open])");
    for (const details of printed) details.open = true;
  });
  addEventListener("afterprint", () => { for (const details of printed) details.open = false; });
  refreshTimes();
  setInterval(refreshTimes, 1000);
  countChosen();
  dependents();
  start();
})();
