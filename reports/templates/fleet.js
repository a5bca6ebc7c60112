/* The tables of a fleet: sorted by a click, searched, and long ones shown whole. */
(function () {
  "use strict";
  var tables = Array.from(document.querySelectorAll("table.fleet"));
  function value(row, at) {
    var cell = row.cells[at], given = cell.dataset.v;
    if (given !== undefined && given !== "" && !isNaN(given)) return +given;
    return (given || cell.textContent).trim().toLowerCase();
  }
  function sortable(table) {
    var heads = Array.from(table.tHead.rows[0].cells), body = table.tBodies[0];
    heads.forEach(function (head, at) {
      var button = document.createElement("button");
      button.type = "button";
      button.className = "sorts";
      button.append.apply(button, Array.from(head.childNodes));
      head.append(button);
      button.addEventListener("click", function () {
        var old = head.getAttribute("aria-sort"), down = old ? old === "ascending" : head.classList.contains("num") && at > 0;
        heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        var rows = Array.from(body.rows).map(function (row) { return [value(row, at), row]; });
        rows.sort(function (a, b) { return (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0) * (down ? -1 : 1); });
        rows.forEach(function (pair) { body.append(pair[1]); });
      });
    });
  }
  tables.forEach(sortable);

  var find = document.getElementById("find"), met = document.getElementById("met"), body = document.querySelector("table.repositories").tBodies[0];
  var table = body.parentNode, isOpen = false;
  document.querySelector(".finder").hidden = false;
  find.addEventListener("input", function () {
    var words = find.value.trim().toLowerCase().split(/\s+/).filter(Boolean), shown = 0;
    Array.from(body.rows).forEach(function (row) {
      var text = row.textContent.toLowerCase();
      row.hidden = !words.every(function (word) { return text.indexOf(word) >= 0; });
      shown += row.hidden ? 0 : 1;
    });
    table.classList.toggle("open", isOpen || words.length > 0);
    met.textContent = words.length ? shown + " / " + body.rows.length : "";
  });
  document.querySelectorAll("[data-unclip]").forEach(function (button) {
    button.hidden = false;
    button.addEventListener("click", function () {
      var whole = document.querySelector("table." + button.dataset.unclip);
      whole.classList.add("open");
      isOpen = isOpen || whole === table;
      button.hidden = true;
    });
  });
})();
