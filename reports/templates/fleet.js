/* The tables of a fleet: sorted by a click, searched, and long ones shown whole. */
(function () {
  "use strict";
  document.querySelectorAll("table.fleet").forEach(window.porter.sortable);

  var find = document.getElementById("find"), met = document.getElementById("met"), body = document.querySelector("table.repositories").tBodies[0];
  var table = body.parentNode, isOpen = false, texts = new Map();
  document.querySelector(".finder").hidden = false;
  find.addEventListener("input", function () {
    var words = find.value.trim().toLowerCase().split(/\s+/).filter(Boolean), shown = 0;
    Array.from(body.rows).forEach(function (row) {
      if (!texts.has(row)) texts.set(row, said(row));
      var text = texts.get(row);
      row.hidden = !words.every(function (word) { return text.indexOf(word) >= 0; });
      shown += row.hidden ? 0 : 1;
    });
    table.classList.toggle("open", isOpen || words.length > 0);
    met.textContent = words.length ? counted(shown) + " / " + counted(body.rows.length) : "";
  });
  function counted(n) { return String(n).replace(/\B(?=(\d{3})+$)/g, ","); }
  function said(row) {  /* with the obstacles that are not named for want of room */
    return [row.textContent].concat(Array.from(row.querySelectorAll("[title]"), function (node) { return node.title; })).join(" ").toLowerCase();
  }
  function search(words) {
    find.value = words;
    find.dispatchEvent(new Event("input"));
  }
  document.querySelectorAll("[data-find]").forEach(function (link) {
    link.addEventListener("click", function () { search(link.dataset.find); });
  });
  document.querySelectorAll("[data-stage]").forEach(function (link) {
    link.addEventListener("click", function () {
      var cell = body.querySelector(".stage-" + link.dataset.stage + " [lang=" + document.documentElement.lang + "]");
      search(cell ? cell.textContent : "");
    });
  });
  document.querySelectorAll("[data-unclip]").forEach(function (button) {
    button.hidden = false;
    button.addEventListener("click", function () {
      var whole = document.querySelector("table." + button.dataset.unclip);
      whole.classList.add("open");
      if (whole === table) {
        isOpen = true;
        search("");
      }
      button.hidden = true;
    });
  });
})();
