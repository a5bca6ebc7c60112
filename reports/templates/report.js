(function () {
  "use strict";
  var root = document.documentElement;
  var byId = function (id) { return document.getElementById(id); };
  var data = JSON.parse(byId("data").textContent);
  var PAGE = 50, HASH = /^#findings\?(.*)$/;
  var all = data.findings.map(function (row, n) {
    var why = data.whys[row[4]];
    return { n: n, id: row[0], path: row[1], line: row[2], column: row[3], code: data.codes[why[0]], why: why, severity: row[5],
             status: row[6], effort: row[7], values: row[8], hidden: row[9], source: row[10] };
  });
  var known = {};
  all.forEach(function (f) { known[f.id] = f; });
  var chosen = { q: "", severity: [], status: [], family: "", code: "", file: "", effort: "", sort: "rank" };
  var found = [], page = 0, opened = null;

  root.classList.add("live");
  function zh() { return root.lang === "zh-Hans" ? 1 : 0; }
  function word(key, values) {
    return fill(data.words[key][zh()], values || {});
  }
  function fill(text, values) {
    return text.replace(/\{([a-z_]+)\}/g, function (all, name) { return name in values ? values[name] : all; });
  }
  function message(f, other) {
    var at = 1 + (other === undefined ? zh() : other);
    return fill(f.why[at] + data.more.map(function (row) { return row[0] in f.values ? row[at] : ""; }).join(""), f.values);
  }
  function make(tag, name, text) {
    var node = document.createElement(tag);
    if (name) node.className = name;
    if (text !== undefined) node.textContent = text;
    return node;
  }
  function spelled(node, text) {
    text.split(/`([^`\n]+)`/).forEach(function (part, n) {
      if (part) node.append(n % 2 ? make("code", "", part) : part);
    });
    return node;
  }

  /* filters */
  var texts = null;
  function haystack(f) {
    if (!texts) texts = [];
    if (texts[f.n] === undefined) texts[f.n] = [message(f, 0), message(f, 1), data.paths[f.path], f.code, f.why[3]].join("\n").toLowerCase();
    return texts[f.n];
  }
  function fits(f, but) {
    if (f.hidden) return false;
    if (but !== "severity" && chosen.severity.length && chosen.severity.indexOf(f.severity) < 0) return false;
    if (but !== "status" && chosen.status.length && chosen.status.indexOf(f.status) < 0) return false;
    if (chosen.family && f.code[3] !== chosen.family) return false;
    if (chosen.code && f.code !== chosen.code) return false;
    if (chosen.file !== "" && f.path !== +chosen.file) return false;
    if (chosen.effort && data.efforts[f.effort] !== chosen.effort) return false;
    return !chosen.q || haystack(f).indexOf(chosen.q) >= 0;
  }
  var ORDERS = {
    rank: function (a, b) { return a.n - b.n; },
    file: function (a, b) { return a.path - b.path || a.line - b.line || a.n - b.n; },
    code: function (a, b) { return a.code < b.code ? -1 : a.code > b.code ? 1 : a.n - b.n; },
    effort: function (a, b) { return work(b) - work(a) || a.n - b.n; }
  };
  function work(f) { return f.status === 2 ? 10 + f.effort : f.status === 1 ? 1 : 0; }
  function refresh(keep) {
    found = all.filter(function (f) { return fits(f); }).sort(ORDERS[chosen.sort]);
    if (!keep) page = 0;
    draw();
  }

  /* the list */
  function draw() {
    var list = byId("list"), from = page * PAGE, shown = found.slice(from, from + PAGE);
    list.replaceChildren.apply(list, shown.map(row));
    byId("tally").textContent = found.length ? word("js.shown", { from: from + 1, to: from + shown.length, n: found.length }) : word("js.none");
    byId("previous").disabled = page === 0;
    byId("next").disabled = from + PAGE >= found.length;
    document.querySelector(".pager").hidden = found.length <= PAGE;
    byId("clear").hidden = !Object.keys(chosen).some(function (key) { return key !== "sort" && chosen[key].length; });
    counts();
  }
  function row(f) {
    var item = make("li"), button = make("button", "f"), text = make("span", "msg");
    item.id = "row-" + f.id;
    button.type = "button";
    button.append(make("span", "sev sev-" + data.severities[f.severity], word(data.severities[f.severity])), make("span", "code", f.code));
    spelled(text, message(f)).append(make("span", "at", data.paths[f.path] + ":" + f.line));
    button.append(text, make("span", "state state-" + data.states[f.status], word(data.states[f.status])));
    button.setAttribute("aria-expanded", "false");
    button.addEventListener("click", function () { toggle(item, button, f); });
    item.append(button);
    if (opened === f.id) toggle(item, button, f);
    return item;
  }
  function toggle(item, button, f) {
    var detail = item.querySelector(".detail");
    if (detail) {
      detail.remove();
      button.setAttribute("aria-expanded", "false");
      if (opened === f.id) opened = null;
    } else {
      item.append(details(f));
      button.setAttribute("aria-expanded", "true");
      opened = f.id;
    }
  }
  function details(f) {
    var box = make("div", "detail"), rule = byId("rule-" + f.code), symptom = f.why[3];
    if (f.source.length) box.append(source(f));
    if (symptom) box.append(make("h3", "", word("js.symptom")), block(symptom));
    if (rule) {
      var body = rule.querySelector(".body").cloneNode(true);
      if (symptom) drop(body, symptom);
      while (body.firstChild) box.append(body.firstChild);
    }
    var foot = make("p", "aside"), link = make("a", "", word("js.link"));
    link.href = "#f-" + f.id;
    if (f.status === 2) foot.append(word("js.effort") + ": " + word(data.efforts[f.effort]) + " · ");
    foot.append(link);
    box.append(foot);
    return box;
  }
  function drop(body, symptom) {
    var pre = Array.from(body.querySelectorAll("pre")).find(function (p) { return p.textContent.trim() === symptom.trim(); });
    if (pre) { pre.previousElementSibling.remove(); pre.remove(); }
  }
  function block(text) {
    var pre = make("pre");
    pre.tabIndex = 0;
    pre.append(make("code", "", text));
    return pre;
  }
  function source(f) {
    var pre = make("pre", "src");
    pre.tabIndex = 0;
    f.source.forEach(function (r) {
      var tag = r[0], line = make("div", "r" + (tag === "-" ? " minus" : tag === "+" ? " plus" : "")), text = make("span");
      line.append(make("i", "", r[1] || ""), make("b", "", tag === "*" ? "" : tag === "-" ? "\u2212" : tag.trim()), text);
      paint(text, data.pool[r[2]][0], data.pool[r[2]][1], r[3], r[4]);
      pre.append(line);
    });
    return pre;
  }
  function paint(node, text, runs, from, to) {
    var at = 0;
    runs.replace(/([a-z.])(\d+)/g, function (all, kind, size) {
      piece(node, text, at, at + +size, kind, from, to);
      at += +size;
    });
    piece(node, text, at, text.length, ".", from, to);
  }
  function piece(node, text, start, end, kind, from, to) {
    [[start, Math.min(end, from)], [Math.max(start, from), Math.min(end, to)], [Math.max(start, to), end]].forEach(function (span, n) {
      if (span[0] >= span[1] || (n === 2 && span[0] < from)) return;
      var part = make(n === 1 ? "mark" : "span", kind === "." ? "" : "t-" + kind, text.slice(span[0], span[1]));
      node.append(part);
    });
  }

  /* controls */
  function chips(id, names) {
    var box = byId(id);
    box.replaceChildren.apply(box, names.map(function (name, n) {
      var label = make("label"), input = make("input"), text = make("span", id === "severity" ? "sev-" + name : "", word(name) + " ");
      input.type = "checkbox";
      input.checked = chosen[id].indexOf(n) >= 0;
      input.addEventListener("change", function () {
        chosen[id] = names.map(function (_, k) { return k; }).filter(function (k) { return box.querySelectorAll("input")[k].checked; });
        refresh();
      });
      text.append(make("small"));
      label.append(input, text);
      return label;
    }));
  }
  function counts() {
    ["severity", "status"].forEach(function (id) {
      var sums = {};
      all.forEach(function (f) { if (fits(f, id)) sums[f[id]] = (sums[f[id]] || 0) + 1; });
      byId(id).querySelectorAll("small").forEach(function (node, n) { node.textContent = sums[n] || 0; });
    });
  }
  function choices(id, rows) {
    var box = byId(id);
    box.replaceChildren.apply(box, rows.map(function (row) {
      var option = make("option", "", row[1]);
      option.value = row[0];
      return option;
    }));
    box.value = chosen[id];
  }
  function controls() {
    var families = {}, codes = {}, paths = {};
    all.forEach(function (f) {
      if (f.hidden) return;
      families[f.code[3]] = (families[f.code[3]] || 0) + 1;
      codes[f.code] = (codes[f.code] || 0) + 1;
      paths[f.path] = (paths[f.path] || 0) + 1;
    });
    var any = ["", word("js.any")], some = function (sums, name) {
      return [any].concat(Object.keys(sums).sort().map(function (key) { return [key, name(key) + " (" + sums[key] + ")"]; }));
    };
    chips("severity", data.severities);
    chips("status", data.states.slice(0, all.some(function (f) { return f.status === 3; }) ? 4 : 3));
    choices("family", some(families, function (key) { return word("family." + key); }));
    choices("code", some(codes, function (key) { return key; }));
    choices("file", [any].concat(data.paths.map(function (path, n) { return [n, path + " (" + (paths[n] || 0) + ")"]; }).filter(function (row) { return paths[row[0]]; })));
    choices("sort", ["rank", "file", "code", "effort"].map(function (key) { return [key, word("js.sort." + key)]; }));
    byId("q").placeholder = word("js.search.hint");
    byId("q").value = chosen.q;
  }
  function clear() {
    chosen = { q: "", severity: [], status: [], family: "", code: "", file: "", effort: "", sort: chosen.sort };
  }

  /* where the address leads */
  function follow() {
    var hash = location.hash, query = HASH.exec(hash), id = hash.slice(3);
    if (hash.indexOf("#f-") === 0) {
      if (!known[id] || known[id].hidden === 2) {
        byId("tally").textContent = word("js.gone");
        byId("findings").scrollIntoView();
        return;
      }
      clear();
      opened = id;
      found = all.filter(function (f) { return !f.hidden || f.id === id; }).sort(ORDERS[chosen.sort]);
      page = Math.floor(found.indexOf(known[id]) / PAGE);
      controls();
      draw();
      byId("row-" + id).scrollIntoView();
      byId("row-" + id).querySelector("button").focus({ preventScroll: true });
    } else if (query) {
      clear();
      new URLSearchParams(query[1]).forEach(function (value, key) {
        if (key === "severity") chosen.severity = value.split(",").map(function (v) { return data.severities.indexOf(v); });
        else if (key === "status") chosen.status = value.split(",").map(function (v) { return data.states.indexOf(v); });
        else if (key === "file") chosen.file = String(data.paths.indexOf(value));
        else if (key in chosen) chosen[key] = key === "q" ? value.toLowerCase() : value;
      });
      controls();
      refresh();
      byId("findings").scrollIntoView();
    } else if (hash.indexOf("#rule-") === 0) {
      var rule = byId(hash.slice(1));
      if (rule) { rule.open = true; rule.scrollIntoView(); }
    }
  }
  function speak(lang) {
    root.lang = lang;
    document.querySelectorAll("[data-en]").forEach(function (node) { node.setAttribute("aria-label", node.getAttribute(zh() ? "data-zh" : "data-en")); });
    document.querySelectorAll(".lang button").forEach(function (node) { node.setAttribute("aria-pressed", String(node.dataset.lang === lang)); });
    document.title = ["porter", data.project, data.title[zh()]].filter(Boolean).join(" · ");
    if (all.length) { controls(); refresh(true); }
  }

  document.querySelector(".lang").hidden = false;
  document.querySelectorAll(".lang button").forEach(function (node) { node.addEventListener("click", function () { speak(node.dataset.lang); }); });
  document.querySelectorAll("[data-unclip]").forEach(function (node) {
    node.hidden = false;
    node.addEventListener("click", function () { document.querySelector("table." + node.dataset.unclip).classList.add("open"); node.hidden = true; });
  });
  document.querySelectorAll(".leaf").forEach(function (node) {
    node.addEventListener("click", function () { location.hash = "findings?file=" + encodeURIComponent(node.dataset.path); });
  });
  if (all.length) {
    byId("app").hidden = false;
    ["family", "code", "file", "sort"].forEach(function (id) {
      byId(id).addEventListener("change", function () { chosen[id] = byId(id).value; refresh(); });
    });
    byId("q").addEventListener("input", function () { chosen.q = byId("q").value.trim().toLowerCase(); refresh(); });
    byId("filters").addEventListener("submit", function (event) { event.preventDefault(); });
    byId("clear").addEventListener("click", function () { clear(); controls(); refresh(); byId("q").focus(); });
    [["previous", -1], ["next", 1]].forEach(function (pair) {
      byId(pair[0]).addEventListener("click", function () { page += pair[1]; draw(); byId("findings").scrollIntoView(); });
    });
  }
  speak(root.lang);
  follow();
  window.addEventListener("hashchange", follow);

  window.porter = { data: data, all: all, word: word, message: message, spelled: spelled, make: make };
})();
