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

  // A symbol of a formula and the line of code that computes it light up together. They stay lit, so
  // that one can scroll from one to the other, until another is pointed at, a click beside, Escape.
  const all = selector => [...document.querySelectorAll(selector)]
  const symbolAt = event => event.target.closest?.("[data-symbol]")
  let lit
  const light = place => {
    if (place === lit) return
    lit = place
    all(".symbols > :last-child").forEach(note => note.replaceChildren())
    const keys = element => element.dataset.symbol.split(" ")
    const places = all("[data-symbol]").filter(element =>
      element.classList.toggle("lit", !!place && keys(element).some(key => keys(place).includes(key))))
    if (!place) return
    const line = places.find(element => element.id)
    const meanings = [...new Set(places.map(element => element.ariaLabel).filter(Boolean))]
    line.dataset.computes = meanings.map(text => text.split(":")[0]).join(", ")
    const link = document.createElement("a")
    link.href = "#" + line.id
    link.append(line.textContent)
    let part = (place === line ? places.find(element => element !== line) : place).closest(".formula, .symbols")
    while (part.className !== "symbols") part = part.nextElementSibling
    part.lastChild.append(meanings.join("; "), link)
  }
  for (const type of ["pointerover", "focusin", "click"]) addEventListener(type, event => {
    if (symbolAt(event)) light(symbolAt(event))
    else if (type === "click" && !event.target.closest(".symbols")) light()
  })
  addEventListener("keydown", event => {
    if (event.key === "Escape") light()
    if (event.key === "Enter" && lit?.id && symbolAt(event) === lit) document.querySelector(".symbols .lit").focus()
  })

  // What scrolls sideways can be reached with the keyboard; what does not is no tab stop.
  const markScrollers = () => {
    const boxes = all(".md-typeset__scrollwrap, pre > code, div.formula")
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
