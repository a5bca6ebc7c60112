/* A button on every command and every place; without scripts there is none. */
(function () {
  "use strict";
  var porter = window.porter, make = porter.make, said = make("p", "unseen");

  porter.copier = function (text) {
    var button = make("button", "copy");
    button.type = "button";
    button.dataset.copy = text;
    return porter.labelled(button);
  };
  porter.labelled = function (button) {
    button.setAttribute("aria-label", porter.word("js.copy", { text: button.dataset.copy }));
    return button;
  };
  function copy(text) {
    var old = function () {  /* where the browser keeps the clipboard from the page: http, an embedded page */
      var field = make("textarea", "unseen", text), focused = document.activeElement;
      document.body.append(field);
      field.select();
      var done = document.execCommand("copy");
      field.remove();
      if (focused) focused.focus({ preventScroll: true });
      return done;
    };
    return navigator.clipboard ? navigator.clipboard.writeText(text).then(function () { return true; }, old) : Promise.resolve(old());
  }

  said.setAttribute("role", "status");
  document.body.append(said);
  document.addEventListener("click", function (event) {
    var button = event.target.closest("button.copy");
    if (!button) return;
    copy(button.dataset.copy).then(function (done) {
      said.textContent = porter.word(done ? "js.copied" : "js.copied.not", { text: button.dataset.copy });
      button.classList.toggle("done", done);
      setTimeout(function () { button.classList.remove("done"); }, 1500);
    });
  });
  document.querySelectorAll("code.place").forEach(function (node) { (node.closest("a") || node).after(porter.copier(node.textContent)); });
  document.querySelectorAll("[data-place]").forEach(function (node) { node.after(porter.copier(node.dataset.place)); });
  document.querySelectorAll("pre.cmd").forEach(function (node) { node.append(porter.copier(node.querySelector("code").textContent)); });
})();
