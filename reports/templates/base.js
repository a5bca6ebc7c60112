/* What every part of the script needs: the findings, words in the language of the moment, elements. */
(function () {
  "use strict";
  var root = document.documentElement;
  var byId = function (id) { return document.getElementById(id); };
  var data = JSON.parse(byId("data").textContent);
  var all = data.findings.map(function (row, n) {
    var why = data.whys[row[4]];
    return { n: n, id: row[0], path: row[1], line: row[2], column: row[3], code: data.codes[why[0]], why: why, severity: row[5],
             status: row[6], effort: row[7], values: data.values[row[8]], hidden: row[9], source: row[10] };
  });

  root.classList.add("live");
  function zh() { return root.lang === "zh-Hans" ? 1 : 0; }
  function word(key, values) {
    return fill(data.words[key][zh()], values || {});
  }
  function fill(text, values) {
    return text.replace(/\{([a-z_]+)\}/g, function (all, name) { return name in values ? values[name] : all; });
  }
  var said = [null, new Map(), new Map()];  /* messages, by language: what is the same is filled in once */
  function message(f, other) {
    var at = 1 + (other === undefined ? zh() : other);
    var known = said[at].get(f.why);
    if (!known) said[at].set(f.why, known = new Map());
    if (!known.has(f.values)) {
      known.set(f.values, fill(f.why[at] + data.more.map(function (row) { return row[0] in f.values ? row[at] : ""; }).join(""), f.values));
    }
    return known.get(f.values);
  }
  function details(f) {  /* what more there is to know than the message says */
    return fill(f.why[5 + zh()], f.values);
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

  function speak(lang) {
    root.lang = lang;
    document.querySelectorAll("[data-en]").forEach(function (node) { node.setAttribute("aria-label", node.getAttribute(zh() ? "data-zh" : "data-en")); });
    document.querySelectorAll(".lang button").forEach(function (node) { node.setAttribute("aria-pressed", String(node.dataset.lang === lang)); });
    document.querySelectorAll(".copy").forEach(window.porter.labelled);
    document.title = ["porter", data.project, data.title[zh()]].filter(Boolean).join(" · ");
    window.porter.spoken.forEach(function (tell) { tell(); });
  }
  document.querySelector(".lang").hidden = false;
  document.querySelectorAll(".lang button").forEach(function (node) { node.addEventListener("click", function () { speak(node.dataset.lang); }); });

  window.porter = { root: root, byId: byId, data: data, all: all, zh: zh, word: word, message: message, details: details, make: make, spelled: spelled,
                    speak: speak, spoken: [], labelled: function () {}, asked: (/[?&]lang=(en|zh-Hans)(?:&|$)/.exec(location.search) || [])[1] };
})();
