/* Paper gets everything, in the language of the moment: every finding of every file, every fold open. */
(function () {
  "use strict";
  var page = window.porter, make = page.make, folded = [];
  var MOST = 5000;  /* findings with their lines: a browser cannot lay out and print many more in a minute */
  function item(f) {
    var node = make("li"), names = page.data;
    node.append(make("span", "where", f.line + ":" + f.column), " ", make("b", "sev-" + names.severities[f.severity], page.word(names.severities[f.severity])),
      " " + page.word(names.states[f.status]) + " " + f.code + " ");
    page.spelled(node, page.message(f));
    if (f.hidden === 2) node.append(" [" + page.word("suppressed") + "]");
    var code = f.source.filter(function (r) { return r[0] !== " "; }).map(function (r) { return (r[0] === "*" ? " " : r[0]) + " " + names.pool[r[2]][0]; });
    if (code.length && page.all.length <= MOST) node.append(make("pre", "", code.join("\n")));
    return node;
  }
  function fill(box) {
    var groups = page.all.length > MOST ? [make("p", "", page.word("js.paper", { n: page.all.length }))] : [], last = null, list;
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
  window.addEventListener("beforeprint", function () {
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
