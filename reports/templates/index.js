/* The report beside the pages of its files: links to them carry language and filters, and their table can be sorted. */
(function () {
  "use strict";
  var porter = window.porter, PAGE = /^([a-z0-9_-]+\.html)(?:\?[^#]*)?(#.*)?$/;
  function lead(event) {
    var link = event.target.closest && event.target.closest("a[href]"), page = link && PAGE.exec(link.getAttribute("href"));
    if (!page) return;
    var filters = porter.all.length ? porter.address() : "";
    link.setAttribute("href", page[1] + "?lang=" + porter.root.lang + (filters ? "&" + filters : "") + (page[2] || ""));
  }
  ["pointerdown", "click"].forEach(function (name) { document.addEventListener(name, lead, true); });

  var table = document.querySelector("table.files");
  if (!table) return;
  var heads = Array.from(table.tHead.rows[0].cells), rows = Array.from(table.tBodies[0].rows);
  function value(row, at) {
    var text = row.cells[at].textContent;
    return at ? +text : text;
  }
  heads.forEach(function (head, at) {
    if (head.tagName !== "TH") return;
    var button = document.createElement("button");
    button.type = "button";
    button.className = "sorts";
    button.append.apply(button, Array.from(head.childNodes));
    head.append(button);
    button.addEventListener("click", function () {
      var old = head.getAttribute("aria-sort"), down = old ? old === "ascending" : at > 0;  /* the most first, names from A */
      heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      rows.sort(function (a, b) {
        var x = value(a, at), y = value(b, at);
        return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
      });
      table.tBodies[0].append.apply(table.tBodies[0], rows);
    });
  });
})();
