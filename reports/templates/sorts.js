/* A table that a click on the head of a column sorts: numbers from the most, all else from A; what has no value is last either way. */
(function () {
  "use strict";
  function value(row, at, isNumber) {
    var cell = row.cells[at], given = cell.dataset.v, text = given === undefined ? cell.textContent.trim() : given;
    var number = text.replace(/,/g, "");
    return (isNumber || given !== undefined) && number !== "" && !isNaN(number) ? +number : text.toLowerCase();
  }
  window.porter.sortable = function (table) {
    var heads = Array.from(table.tHead.rows[0].cells), body = table.tBodies[0];
    heads.forEach(function (head, at) {
      if (head.tagName !== "TH") return;
      var button = document.createElement("button"), isNumber = head.classList.contains("num");
      button.type = "button";
      button.className = "sorts";
      button.append.apply(button, Array.from(head.childNodes));
      head.append(button);
      button.addEventListener("click", function () {
        var old = head.getAttribute("aria-sort"), down = old ? old === "ascending" : isNumber && at > 0;
        heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        var rows = Array.from(body.rows).map(function (row) { return [value(row, at, isNumber), row]; });
        rows.sort(function (a, b) {
          if ((a[0] === "") !== (b[0] === "")) return a[0] === "" ? 1 : -1;
          return (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0) * (down ? -1 : 1);
        });
        rows.forEach(function (pair) { body.append(pair[1]); });
      });
    });
  };
})();
