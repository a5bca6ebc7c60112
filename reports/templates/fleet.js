/* The tables of a fleet: sorted by a click, searched, and long ones shown whole. */
(function () {
  "use strict";
  document.querySelectorAll("table.fleet").forEach(window.porter.sortable);

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
