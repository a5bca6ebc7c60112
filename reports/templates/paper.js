/* Paper gets what report.css leaves for two pages; on request everything, every finding of every file, every fold open. */
(function () {
  "use strict";
  var page = window.porter, make = page.make, folded = [];
  function item(f) {  /* few elements: a browser spends its time on them when it breaks a long list into pages */
    var node = make("li"), names = page.data;
    var words = [f.line + ":" + f.column, page.word(names.severities[f.severity]), page.word(names.states[f.status]), f.code, page.message(f)];
    if (f.hidden === 2) words.push("[" + page.word("suppressed") + "]");
    node.textContent = words.join(" ");
    var code = f.source.filter(function (r) { return r[0] !== " "; }).map(function (r) { return (r[0] === "*" ? " " : r[0]) + " " + names.pool[r[2]][0]; });
    if (code.length) node.append(make("pre", "", code.join("\n")));
    return node;
  }
  function fill(box) {
    var groups = [], last = null, list;
    page.all.slice().sort(function (a, b) { return a.path - b.path || a.line - b.line || a.column - b.column; }).forEach(function (f) {
      if (f.path !== last) {
        var part = make("article", "paper");
        list = make("ul");
        part.append(make("h3", "", page.data.paths[f.path]), list);
        groups.push(part);
        last = f.path;
      }
      list.append(item(f));
    });
    box.replaceChildren.apply(box, groups);
  }
  var everything = document.getElementById("everything");
  function choose() { page.root.classList.toggle("everything", everything.checked); }
  everything.checked = location.hash === "#print=all";
  everything.parentNode.hidden = false;
  everything.addEventListener("change", choose);
  choose();
  window.addEventListener("hashchange", function () {
    if (location.hash === "#print=all") { everything.checked = true; choose(); }
  });
  window.addEventListener("beforeprint", function () {
    if (!everything.checked) return;
    var box = document.getElementById("paper");
    if (box) fill(box);
    folded = Array.from(document.querySelectorAll("details:not([open])"));
    folded.forEach(function (node) { node.open = true; });
  });
  window.addEventListener("afterprint", function () {
    var box = document.getElementById("paper");
    if (box) box.replaceChildren();
    folded.forEach(function (node) { node.open = false; });
  });
})();
