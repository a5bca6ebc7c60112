/* The list of findings, its filters, and the address that holds them. */
(function () {
  "use strict";
  var porter = window.porter, root = porter.root, byId = porter.byId, data = porter.data, all = porter.all;
  var zh = porter.zh, word = porter.word, message = porter.message, make = porter.make, spelled = porter.spelled;
  var PAGE = 50, HASH = /^#findings\?(.*)$/;
  var known = Object.create(null);
  all.forEach(function (f) { known[f.id] = f; });
  var chosen, found = [], rows = [], page = 0, opened = "";  /* opened: a finding, or a fold */
  clear();

  /* filters */
  var texts = null;
  function haystack(f) {
    if (!texts) texts = [];
    if (texts[f.n] === undefined) texts[f.n] = [message(f, 0), message(f, 1), data.paths[f.path], f.code, f.why[3]].join("\n").toLowerCase();
    return texts[f.n];
  }
  function fits(f) {  /* all that is asked for but severity and status, whose chips say how many there would be */
    if (f.hidden) return false;
    if (chosen.family && f.code[3] !== chosen.family) return false;
    if (chosen.code && f.code !== chosen.code) return false;
    if (chosen.file !== "" && f.path !== +chosen.file) return false;
    if (chosen.effort && data.efforts[f.effort] !== chosen.effort) return false;
    return !chosen.q || haystack(f).indexOf(chosen.q) >= 0;
  }
  function isChosen(key, f) { return !chosen[key].length || chosen[key].indexOf(f[key]) >= 0; }
  var ORDERS = {
    rank: null,  /* as they come */
    file: function (a, b) { return a.path - b.path || a.line - b.line || a.n - b.n; },
    code: function (a, b) { return a.code < b.code ? -1 : a.code > b.code ? 1 : a.n - b.n; },
    effort: function (a, b) { return work(b) - work(a) || a.n - b.n; }
  };
  function work(f) { return f.status === 2 ? 10 + f.effort : f.status === 1 ? 1 : 0; }
  function filtered() {
    return Object.keys(chosen).some(function (key) { return key !== "sort" && chosen[key].length; });
  }
  function refresh(keep) {
    if (!keep) { page = 0; opened = ""; }
    var old = known[opened] && known[opened].hidden === 1 && !filtered() ? opened : null;  /* in the baseline, and linked to */
    var sums = { severity: [], status: [] }, count = function (key, f) { sums[key][f[key]] = (sums[key][f[key]] || 0) + 1; };
    found = all.filter(function (f) {  /* once for each finding: there may be many, and letters are typed fast */
      if (!fits(f)) return f.id === old;
      var severe = isChosen("severity", f), stated = isChosen("status", f);
      if (stated) count("severity", f);
      if (severe) count("status", f);
      return severe && stated;
    });
    if (chosen.sort !== "rank") found.sort(ORDERS[chosen.sort]);
    rows = folded(found);
    Object.keys(sums).forEach(function (key) {
      byId(key).querySelectorAll("small").forEach(function (node, n) { node.textContent = sums[key][n] || 0; });
    });
    draw();
  }

  /* automatic edits of one kind are one row, unless the order is that of the files */
  function fold(f) {
    if (!f.fold) f.fold = [f.code, f.why[4], data.severities[f.severity]].join("-");
    return f.fold;
  }
  function folded(list) {
    var folds = Object.create(null), rows = [];
    list.forEach(function (f) {
      var key = f.status || chosen.sort === "file" ? "" : fold(f);
      if (folds[key]) folds[key].push(f);
      else {
        rows.push([f]);
        if (key) folds[key] = rows[rows.length - 1];
      }
    });
    return rows;
  }
  function holds(row) {
    return row.some(function (f) { return f.id === opened; }) || (row.length > 1 && fold(row[0]) === opened);
  }

  /* the list */
  function draw() {
    var list = byId("list"), from = page * PAGE, shown = rows.slice(from, from + PAGE);
    var values = { from: from + 1, to: from + shown.length, rows: rows.length, n: found.length };
    list.replaceChildren.apply(list, shown.map(function (row) { return row.length > 1 ? foldRow(row) : findingRow(row[0]); }));
    byId("tally").textContent = word(!rows.length ? "js.none" : rows.length < found.length ? "js.shown.rows" : "js.shown", values);
    byId("previous").disabled = page === 0;
    byId("next").disabled = from + PAGE >= rows.length;
    document.querySelector(".pager").hidden = rows.length <= PAGE;
    byId("clear").hidden = !filtered();
    if (opened) reveal();
  }
  function head(f, text) {
    var button = make("button", "f");
    button.type = "button";
    button.append(make("span", "sev sev-" + data.severities[f.severity], word(data.severities[f.severity])), make("span", "code", f.code));
    button.append(text, make("span", "state state-" + data.states[f.status], word(data.states[f.status])));
    return button;
  }
  function findingRow(f) {
    return expandable(f.id, head(f, spelled(make("span", "msg"), message(f))), place(f), function () { return details(f); }, "");
  }
  function foldRow(row) {
    var button = head(row[0], title(row, make("span", "msg"))), files = new Set(row.map(function (f) { return f.path; })).size;
    var many = make("p", "at", word(files > 1 ? "js.fold" : "js.fold.file", { n: row.length, files: files }));
    return expandable(fold(row[0]), button, many, function () { return places(row); }, "");
  }
  function expandable(id, button, below, inside, around) {
    var item = make("li"), flip = function () {
      var open = item.querySelector(":scope > .below");
      if (open) open.remove(); else item.append(inside());
      button.setAttribute("aria-expanded", String(!open));
      return !open;
    };
    item.id = "row-" + id;
    item.append(button, below);
    button.setAttribute("aria-expanded", "false");
    button.addEventListener("click", function () {
      var within = item.querySelector("#row-" + CSS.escape(opened || "-"));
      if (flip()) opened = id;
      else if (opened === id || within) opened = around;
      remember();
    });
    item.reveal = flip;
    return item;
  }
  function place(f) {
    var node = make("p", "at"), text = data.paths[f.path] + ":" + f.line, link = make("a", "", text);
    if (data.links.length) {
      link.href = data.links[f.path].replace("{line}", f.line);
      link.rel = "noreferrer";
    }
    node.append(data.links.length ? link : text, porter.copier(text));
    return node;
  }
  function title(row, node) {  /* `torch.cuda.*` → `torch.npu.*`, else the message that all have, else what the rule is called */
    var heads = new Set(), names = new Set(), messages = new Set();
    var seen = new Set();
    row.forEach(function (f) {
      if (seen.has(f.values)) return;  /* what is the same is one object */
      seen.add(f.values);
      if (!f.values.name || !f.values.to) {
        if (messages.size < 2) messages.add(message(f));
        return;
      }
      var change = f.values.name + "\n" + f.values.to, name = f.values.name.split("."), to = f.values.to.split(".");
      if (names.has(change)) return;
      names.add(change);
      while (name.length > 1 && to.length > 1 && name[name.length - 1] === to[to.length - 1]) { name.pop(); to.pop(); }
      heads.add(name.join(".") + "\n" + to.join("."));
    });
    if (heads.size === 1) {
      var change = Array.from(names.size === 1 ? names : heads)[0].split("\n");
      change.forEach(function (name, n) { node.append(n ? " → " : "", make("code", "", name + (names.size > 1 ? ".*" : ""))); });
    } else if (messages.size === 1) spelled(node, message(row[0]));
    else node.append.apply(node, byId("rule-" + row[0].code).querySelector('.what [lang="' + root.lang + '"]').cloneNode(true).childNodes);
    return node;
  }
  function places(row) {
    var box = make("div", "below"), list = make("ol", "places"), more = make("button", "more"), shown = 0;
    var add = function (to) {
      row.slice(shown, to).forEach(function (f) { list.append(placeRow(f, fold(row[0]))); });
      shown = to;
      more.textContent = word("js.fold.more", { n: row.length - shown });
      more.hidden = shown >= row.length;
    };
    more.type = "button";
    more.addEventListener("click", function () { add(shown + PAGE); });
    add(Math.max(PAGE, 1 + row.findIndex(function (f) { return f.id === opened; })));
    box.append(list, more);
    return box;
  }
  function placeRow(f, around) {
    var button = make("button", "f"), code = f.source.find(function (r) { return r[0] === "-" || r[0] === "*"; });
    button.type = "button";
    button.append(code ? make("code", "msg", data.pool[code[2]][0].trim()) : spelled(make("span", "msg"), message(f)));
    return expandable(f.id, button, place(f), function () { return details(f); }, around);
  }
  function reveal() {  /* what is opened, and the fold around it; the page that it is on is drawn */
    var row = rows.find(holds), outer = row && byId("row-" + (row.length > 1 ? fold(row[0]) : opened));
    if (!outer) return null;
    outer.reveal();
    if (row.length === 1 || opened === fold(row[0])) return outer;
    var inner = byId("row-" + opened);
    inner.reveal();
    return inner;
  }
  function details(f) {
    var box = make("div", "below detail"), rule = byId("rule-" + f.code), symptom = f.why[3], more = porter.details(f);
    if (more) box.append(spelled(make("p", ""), more));
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
      paint(text, data.pool[r[2]][0], data.pool[r[2]][1], r[3] || 0, r[4] || 0);
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
      input.addEventListener("change", function () {
        chosen[id] = names.map(function (_, k) { return k; }).filter(function (k) { return box.querySelectorAll("input")[k].checked; });
        change();
      });
      text.append(make("small"));
      label.append(input, text);
      return label;
    }));
  }
  function choices(id, rows) {
    var box = byId(id);
    box.replaceChildren.apply(box, rows.map(function (row) {
      var option = make("option", "", row[1]);
      option.value = row[0];
      return option;
    }));
  }
  var written = "";  /* the language that the controls are in */
  function controls() {
    if (written !== root.lang) build();
    written = root.lang;
    ["severity", "status"].forEach(function (id) {
      byId(id).querySelectorAll("input").forEach(function (input, n) { input.checked = chosen[id].indexOf(n) >= 0; });
    });
    ["family", "code", "file", "sort"].forEach(function (id) { byId(id).value = chosen[id]; });
    byId("q").value = chosen.q;
  }
  function build() {
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
  }
  function clear() {
    chosen = { q: "", severity: [], status: [], family: "", code: "", file: "", effort: "", sort: chosen ? chosen.sort : "rank" };
  }
  function change(typing) {
    refresh();
    remember(typing);
  }

  /* the address holds the filters, the page and what is opened: "#findings?severity=blocker&open=..." */
  function address() {
    var query = new URLSearchParams(), names = function (id, all) { return chosen[id].map(function (n) { return all[n]; }).join(","); };
    var parts = {
      q: chosen.q, severity: names("severity", data.severities), status: names("status", data.states), family: chosen.family, code: chosen.code,
      file: data.paths[chosen.file], effort: chosen.effort, sort: chosen.sort === "rank" ? "" : chosen.sort, page: page ? page + 1 : "", open: opened
    };
    Object.keys(parts).forEach(function (key) { if (parts[key]) query.set(key, parts[key]); });
    return query.toString().replace(/%2C/g, ",").replace(/%2F/g, "/");
  }
  function apply(text) {  /* what names nothing of this report is left out */
    var asked = new URLSearchParams(text), pick = function (key, known) { return known(asked.get(key) || "") ? asked.get(key) : ""; };
    var some = function (key, names) { return names.map(function (_, n) { return n; }).filter(function (n) { return (asked.get(key) || "").split(",").indexOf(names[n]) >= 0; }); };
    var file = data.paths.indexOf(asked.get("file"));
    chosen = {
      q: (asked.get("q") || "").toLowerCase(), severity: some("severity", data.severities), status: some("status", data.states),
      family: pick("family", function (value) { return all.some(function (f) { return f.code[3] === value; }); }),
      code: pick("code", function (value) { return data.codes.indexOf(value) >= 0; }), file: file < 0 ? "" : String(file),
      effort: pick("effort", function (value) { return data.efforts.indexOf(value) >= 0; }),
      sort: pick("sort", function (value) { return Object.keys(ORDERS).indexOf(value) >= 0; }) || "rank"
    };
    opened = asked.get("open") || "";
    controls();
    page = 0;
    refresh(true);
    var at = rows.findIndex(holds);
    if (at < 0) opened = "";
    page = at < 0 ? Math.min(Math.max(parseInt(asked.get("page"), 10) || 1, 1), Math.ceil(rows.length / PAGE) || 1) - 1 : Math.floor(at / PAGE);
    if (page) draw();
  }
  function remember(typing) {  /* a word that is typed is one step back, not one for each letter */
    var text = address(), hash = text ? "#findings?" + text : "#findings", step = history.state || {};
    if (step.filters === text) return;
    keep(text, hash, typing && step.typing ? "replaceState" : "pushState", typing);
  }
  function keep(text, hash, how, typing) {
    try { history[how]({ filters: text, typing: !!typing }, "", hash); } catch (error) { /* a page without an address of its own */ }
  }
  function follow() {
    var hash = location.hash, query = HASH.exec(hash), id = hash.slice(3), step = history.state;
    if (step && typeof step.filters === "string") {  /* Back, Forward, or loaded again: the browser knows where to scroll */
      if (all.length && step.filters !== address()) apply(step.filters);
      return;
    }
    if (hash.indexOf("#f-") === 0 && all.length) {
      if (!known[id] || known[id].hidden === 2) {
        byId("tally").textContent = word("js.gone");
        byId("findings").scrollIntoView();
      } else arrive("open=" + id);
    } else if (query && all.length) arrive(query[1]);
    else if (hash.indexOf("#rule-") === 0) {
      var rule = byId(hash.slice(1));
      if (rule) { rule.open = true; rule.scrollIntoView(); }
    }
    keep(address(), hash || location.pathname + location.search, "replaceState");
  }
  function arrive(text) {
    apply(text);
    var item = opened && byId("row-" + opened);
    (item || byId("findings")).scrollIntoView();
    if (item) item.querySelector("button").focus({ preventScroll: true });
  }
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
      byId(id).addEventListener("change", function () { chosen[id] = byId(id).value; change(); });
    });
    byId("q").addEventListener("input", function () { chosen.q = byId("q").value.trim().toLowerCase(); change(true); });
    byId("q").addEventListener("keydown", function (event) {  /* what was typed stays */
      if (event.key === "Escape") { event.preventDefault(); byId("q").blur(); }
    });
    document.addEventListener("keydown", function (event) {
      var typing = event.target.closest && event.target.closest('input[type="search"], select, textarea');
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || typing) return;
      event.preventDefault();
      byId("q").focus();
    });
    byId("filters").addEventListener("submit", function (event) { event.preventDefault(); });
    byId("clear").addEventListener("click", function () { clear(); controls(); change(); byId("q").focus(); });
    [["previous", -1], ["next", 1]].forEach(function (pair) {
      byId(pair[0]).addEventListener("click", function () { page += pair[1]; opened = ""; draw(); remember(); byId("findings").scrollIntoView(); });
    });
  }
  document.querySelectorAll('a[href^="#findings?"]').forEach(function (node) {  /* a second click changes no address */
    node.addEventListener("click", function () { if (node.hash === location.hash) byId("findings").scrollIntoView(); });
  });
  porter.address = address;
  porter.spoken.push(function () { if (all.length) { controls(); refresh(true); } });
  porter.speak(porter.asked || root.lang);
  follow();
  window.addEventListener("hashchange", follow);
})();
