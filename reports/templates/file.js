/* The page of a file: keys from finding to finding, and the way back to where the reader came from. */
(function () {
  "use strict";
  var porter = window.porter, hits = Array.from(document.querySelectorAll(".hit")), current = -1;
  var asked = new URLSearchParams(location.search);
  asked.delete("lang");
  var filters = asked.toString();

  function lead() {  /* links keep the language of the moment, and the filters of the report */
    var lang = "?lang=" + porter.root.lang;
    document.querySelectorAll("a[data-lead]").forEach(function (link) {
      var parts = /^([^?#]*)[^#]*(#.*)?$/.exec(link.getAttribute("href")), kind = link.dataset.lead;
      var hash = kind === "back" ? "#findings" + (filters ? "?" + filters : "") : parts[2] || "";
      link.setAttribute("href", parts[1] + lang + (kind === "file" && filters ? "&" + filters : "") + hash);
    });
  }
  function place() {  /* the finding that is looked at: the one of the address, else what stands on the screen */
    var named = hits.findIndex(function (hit) { return "#" + hit.id === location.hash; });
    return named >= 0 ? named : current;
  }
  function step(by) {
    var at = place(), next = at + by;
    if (at < 0) {
      next = hits.findIndex(function (hit) { return hit.getBoundingClientRect().top > 100; });
      if (by < 0) next = (next < 0 ? hits.length : next) - 1;
      if (by > 0 && next < 0) next = hits.length - 1;
    }
    var hit = hits[Math.min(Math.max(next, 0), hits.length - 1)];
    current = hits.indexOf(hit);
    location.replace("#" + hit.id);  /* Back leads to the report, not through every finding */
    hit.focus({ preventScroll: true });
  }
  if (hits.length) {
    document.querySelector(".keys").hidden = false;
    document.addEventListener("keydown", function (event) {
      var by = { j: 1, n: 1, k: -1, p: -1 }[event.key];
      if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      step(by);
    });
  }
  porter.spoken.push(lead);
  porter.speak(porter.asked || porter.root.lang);
})();
