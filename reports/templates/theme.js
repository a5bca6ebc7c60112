/* Light or dark: what was chosen here, else what the system says. It stands in the head, so that nothing is drawn twice. */
(function () {
  "use strict";
  var KEY = "porter-theme", MEDIA = { auto: "screen and (prefers-color-scheme: dark)", light: "not all", dark: "screen" };
  var sheet = document.getElementById("dark");

  function stored(name) {  /* a page may be kept from storage; then the choice holds while it is open */
    try {
      if (name) localStorage.setItem(KEY, name);
      return localStorage.getItem(KEY);
    } catch (error) {
      return null;
    }
  }
  function show(name) {
    sheet.media = MEDIA[name];
    document.querySelectorAll(".theme button").forEach(function (node) { node.setAttribute("aria-pressed", String(node.dataset.theme === name)); });
  }
  function known(name) { return Object.keys(MEDIA).indexOf(name) < 0 ? "auto" : name; }

  show(known(stored()));
  document.addEventListener("DOMContentLoaded", function () {
    document.querySelector(".theme").hidden = false;
    document.querySelectorAll(".theme button").forEach(function (node) {
      node.addEventListener("click", function () { show(node.dataset.theme); stored(node.dataset.theme); });
    });
    show(known(stored()));
  });
})();
