// Runs before Material's script. Everything here improves a page that is whole without it.
(() => {
  "use strict"
  document.getElementById("loading")?.remove()

  const { open, send } = XMLHttpRequest.prototype
  const { postMessage } = Worker.prototype

  // Material asks for the search index with every page: hold that one request until search opens.
  XMLHttpRequest.prototype.open = function (method, url, ...rest) {
    this.isSearchIndex = String(url).endsWith("/search_index.json")
    open.call(this, method, url, ...rest)
  }
  XMLHttpRequest.prototype.send = function (body) {
    const field = document.querySelector(".md-search__input")
    const now = () => send.call(this, body)
    const wanted = /[?&][qh]=/.test(location.search) || document.activeElement === field
    if (this.isSearchIndex && field && !wanted) field.addEventListener("focus", now, { once: true })
    else now()
  }

  // Both languages share one index: search the page's own, and what is written in English only.
  Worker.prototype.postMessage = function (message, ...rest) {
    const docs = message?.data?.docs
    if (docs) {
      const page = doc => doc.location.split("#")[0]
      const pages = new Set(docs.map(page))
      const chinese = document.documentElement.lang === "zh"
      message.data.docs = docs.filter(doc => page(doc).startsWith("zh/")
        ? chinese
        : !chinese || !pages.has("zh/" + page(doc)))
    }
    postMessage.call(this, message, ...rest)
  }

  // Long docstrings in code unfold and fold again.
  addEventListener("click", event => {
    const fold = event.target.closest?.(".fold")
    if (fold) fold.ariaExpanded = String(fold.ariaExpanded !== "true")
  })

  // The line that installs the package names the place that this copy of the site is read from.
  const wheel = document.querySelector(".install a")
  const encoded = sign => "%" + sign.charCodeAt().toString(16)
  if (wheel) wheel.textContent = wheel.href.replace(/[^\w:/.%~-]/g, encoded) // safe in any shell

  // What scrolls sideways can be reached with the keyboard; what does not is no tab stop.
  const markScrollers = () => {
    const boxes = [...document.querySelectorAll(".md-typeset__scrollwrap, pre > code, div.formula")]
    // first measure all, then change them: in turns, each change would have the page laid out again
    const scrolls = boxes.map(box => box.scrollWidth > box.clientWidth)
    boxes.forEach((box, i) => {
      if (scrolls[i]) box.tabIndex = 0
      else box.removeAttribute("tabindex")
    })
  }
  addEventListener("load", () => {
    markScrollers()
    // each block's copy button comes in a nav of its own: no landmarks, there are too many
    for (const nav of document.querySelectorAll(".md-code__nav")) nav.setAttribute("role", "none")
  })
  addEventListener("resize", markScrollers)
})()
