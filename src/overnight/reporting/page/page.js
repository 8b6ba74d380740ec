"use strict";
(() => {
  const PAGE = 30;
  const MOST_CHOICES = 40;

  // Tables that stand in the page: a click on a heading sorts by it.
  const valueOf = (text) => {
    const plain = text.replace(/[,$%]/g, "").replace("\u2212", "-").trim();
    return plain !== "" && !isNaN(plain) ? Number(plain) : null;
  };
  const compare = (one, other) => {
    if (one === "" || other === "") return (one === "") - (other === "");
    const a = valueOf(one), b = valueOf(other);
    if (a !== null && b !== null) return a - b;
    return one < other ? -1 : one > other ? 1 : 0;
  };
  const sortable = (table, sort) => {
    table.querySelectorAll("thead th").forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.textContent = "";
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        table.querySelectorAll("th").forEach((one) => one.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        sort(column, down);
      });
    });
  };
  document.querySelectorAll("table.sorts").forEach((table) => {
    const body = table.tBodies[0];
    sortable(table, (column, down) => {
      const rows = [...body.rows].map((row, at) => [row.cells[column].textContent, at, row]);
      rows.sort((a, b) => {
        const empty = (a[0] === "") - (b[0] === "");
        return empty || (down ? -1 : 1) * compare(a[0], b[0]) || a[1] - b[1];
      });
      body.append(...rows.map((row) => row[2]));
    });
  });

  // Rows that are packed: see packed.py for the form.
  const unpack = async (text) => {
    const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const plain = new Uint8Array(await new Response(stream).arrayBuffer());
    const length = new DataView(plain.buffer).getUint32(0);
    const head = JSON.parse(new TextDecoder().decode(plain.subarray(4, 4 + length)));
    let at = 4 + length;
    for (const column of head.columns) {
      column.codes = new Uint32Array(head.rows);
      for (let plane = 0; plane < column.bytes; plane++) {
        for (let row = 0; row < head.rows; row++) column.codes[row] = column.codes[row] * 256 + plain[at + row];
        at += head.rows;
      }
      if (column.words) {
        column.text = (row) => column.words[column.codes[row]];
      } else {
        const scale = 10 ** column.decimals;
        column.text = (row) => {
          const code = column.codes[row];
          if (code === 0) return "";
          return ((code - 1 + column.least) / scale).toFixed(column.decimals);
        };
      }
    }
    return head;
  };

  const browse = (box, data) => {
    const table = box.querySelector("table"), body = table.tBodies[0];
    const controls = box.querySelector(".controls"), told = box.querySelector(".told");
    const [back, on] = box.querySelectorAll("button.step");
    const order = Uint32Array.from({ length: data.rows }, (_, at) => at);
    let found = order, first = 0;
    const search = document.createElement("input");
    search.type = "search";
    const labelled = (words, control) => {
      const label = document.createElement("label");
      label.append(words, control);
      controls.append(label);
      return control;
    };
    labelled("search", search);
    const choices = data.columns.filter((one) => one.words && one.words.length > 2 && one.words.length <= MOST_CHOICES);
    const selects = choices.map((column) => {
      const select = document.createElement("select");
      select.append(new Option("all", ""));
      const used = new Set(column.codes);
      column.words.forEach((word, code) => {
        if (used.has(code)) select.append(new Option(word === "" ? "(nothing)" : word, String(code)));
      });
      return labelled(column.name, select);
    });
    const draw = () => {
      body.textContent = "";
      for (const row of found.subarray(first, first + PAGE)) {
        const line = body.insertRow();
        for (const column of data.columns) {
          const cell = line.insertCell();
          cell.textContent = column.text(row);
          if (column.words) cell.title = cell.textContent; else cell.className = "n";
        }
      }
      const last = Math.min(first + PAGE, found.length), count = (n) => n.toLocaleString("en-US");
      told.textContent = found.length
        ? `rows ${count(first + 1)} to ${count(last)} of ${count(found.length)}` +
          (found.length < data.rows ? ` (of ${count(data.rows)} in all)` : "")
        : `none of ${count(data.rows)} rows`;
      back.disabled = first === 0;
      on.disabled = last >= found.length;
    };
    const filter = () => {
      const wanted = search.value.trim().toLowerCase();
      const masks = wanted === "" ? null : data.columns.filter((one) => one.words).map((one) => [
        one.codes, Uint8Array.from(one.words, (word) => (word.toLowerCase().includes(wanted) ? 1 : 0))]);
      const chosen = selects.map((select, at) => [choices[at].codes, select.value]).filter((one) => one[1] !== "")
        .map(([codes, value]) => [codes, Number(value)]);
      found = order.filter((row) =>
        chosen.every(([codes, code]) => codes[row] === code) &&
        (masks === null || masks.some(([codes, mask]) => mask[codes[row]] === 1)));
      first = 0;
      draw();
    };
    sortable(table, (column, down) => {
      const codes = data.columns[column].codes, sign = down ? -1 : 1;
      order.sort((a, b) => (codes[a] === 0) - (codes[b] === 0) || sign * (codes[a] - codes[b]) || a - b);
      filter();
    });
    search.addEventListener("input", filter);
    selects.forEach((select) => select.addEventListener("change", filter));
    back.addEventListener("click", () => { first = Math.max(0, first - PAGE); draw(); });
    on.addEventListener("click", () => { first += PAGE; draw(); });
    controls.hidden = false;
    box.querySelector(".without").hidden = true;
    box.querySelector(".foot").hidden = false;
    box.dataset.ready = "yes";
    draw();
  };
  document.querySelectorAll(".browser").forEach((box) => {
    unpack(box.querySelector("script").textContent).then((data) => browse(box, data)).catch(() => {
      box.querySelector(".told").textContent = "this browser cannot unpack the rows; the first of them are above";
      box.querySelector(".foot").hidden = false;
    });
  });

  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
})();
