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
  if (table) porter.sortable(table);
})();
