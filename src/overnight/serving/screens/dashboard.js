"use strict";
(() => {
  const told = document.getElementById("told");
  const SOONEST = 1000;

  // Parts that are marked as live are shown anew; what the reader is at stays as it is.
  const open = (part) => new Set([...part.querySelectorAll("details[open] > summary")].map((one) => one.textContent));
  const renew = (fresh) => {
    document.querySelectorAll("[data-live]").forEach((part) => {
      const other = fresh.querySelector(`[data-live="${CSS.escape(part.dataset.live)}"]`);
      if (other === null || other.innerHTML === part.innerHTML) return;
      const unfolded = open(part);
      if (part.contains(document.activeElement) || unfolded.size > 0) {
        if (part.dataset.live === "threads" || part.dataset.live === "fields") return;
      }
      const at = [...part.querySelectorAll("a,button,summary,pre")].indexOf(document.activeElement);
      part.replaceChildren(...[...other.childNodes].map((one) => document.adoptNode(one)));
      part.querySelectorAll("details > summary").forEach((one) => {
        if (unfolded.has(one.textContent)) one.parentElement.open = true;
      });
      if (at >= 0) part.querySelectorAll("a,button,summary,pre")[at]?.focus({ preventScroll: true });
    });
    const parts = new Set([...document.querySelectorAll("[data-live]")].map((one) => one.dataset.live));
    if ([...fresh.querySelectorAll("[data-live]")].some((one) => !parts.has(one.dataset.live))) location.reload();
    if (fresh.body.dataset.again === "yes") document.body.dataset.again = "yes";
    else delete document.body.dataset.again;
  };

  let waiting = false, asked = 0;
  const load = async () => {
    waiting = false;
    asked = performance.now();
    try {
      const answer = await fetch(location.href, { credentials: "same-origin" });
      if (!answer.ok) throw new Error(String(answer.status));
      renew(new DOMParser().parseFromString(await answer.text(), "text/html"));
      told.textContent = "";
      if (document.body.dataset.again === "yes") changed();
    } catch {
      told.textContent = "This page is not renewed any more: the dashboard has ended, or was started anew.";
    }
  };
  const changed = () => {
    if (waiting) return;
    waiting = true;
    setTimeout(load, Math.max(0, SOONEST - (performance.now() - asked)));
  };

  // A browser keeps few connections to one server: a page that nobody sees gives its own back.
  let stream = null;
  const follow = () => {
    if (document.hidden || !document.body.dataset.follow) {
      stream?.close();
      stream = null;
      return;
    }
    if (stream !== null) return;
    stream = new EventSource(document.body.dataset.follow);
    let first = true;
    stream.addEventListener("message", () => {
      told.textContent = "";
      if (!first) changed();
      first = false;
    });
    stream.addEventListener("error", () => {
      told.textContent = "Not live: the dashboard does not answer.";
    });
  };
  document.addEventListener("visibilitychange", () => {
    follow();
    if (!document.hidden && document.body.dataset.follow) changed();
  });
  addEventListener("pagehide", () => stream?.close());
  follow();
  if (document.body.dataset.again === "yes") changed();

  // Keys, but never while somebody types.
  const typing = (at) => at.closest("input,select,textarea,[contenteditable]") !== null;
  const move = (step) => {
    const rows = [...document.querySelectorAll("a.row")];
    const at = rows.indexOf(document.activeElement);
    const next = at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + step));
    rows[next]?.focus();
  };
  const go = (rel) => document.querySelector(`a[rel=${rel}]`)?.click();
  const keys = {
    j: () => move(1),
    k: () => move(-1),
    n: () => go("next"),
    p: () => go("prev"),
    "/": () => document.querySelector("input[type=search]")?.focus(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    const act = keys[event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
  });

  // Links stay short: what is not filled in is not in them.
  document.querySelectorAll("form[method=get]").forEach((form) => {
    form.addEventListener("formdata", ({ formData }) => {
      [...formData.entries()].forEach(([name, value]) => { if (value === "") formData.delete(name); });
    });
  });
})();
