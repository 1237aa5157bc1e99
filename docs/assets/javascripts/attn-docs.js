// Runs before Material's script. Everything here improves a page that is whole without it.
(() => {
  "use strict"

  const { open, send } = XMLHttpRequest.prototype

  // Two things that Material does at the start have the style of every element computed again, twice
  // each: it says that the colours are changing, which they are not, and it states the colour scheme
  // beside its stylesheet (attn-docs.css does, for what is outside the page's body).
  const { appendChild, setAttribute } = document.body
  document.body.setAttribute = function (name, value) {
    const starts = name === "data-md-color-switching" && document.readyState !== "complete"
    if (!starts && this.getAttribute(name) !== value) setAttribute.call(this, name, value)
  }
  document.head.appendChild = function (node) {
    return node.name === "color-scheme" ? node : appendChild.call(this, node)
  }

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
  const page = doc => doc.location.split("#")[0]
  const known = new Set()
  const names = new Map()
  let separator, wanted
  const learn = text => {
    for (const word of text.replace(/<[^>]*>/g, " ").split(separator)) known.add(word.toLowerCase())
  }
  const ours = docs => {
    const pages = new Map(docs.filter(doc => doc.location === page(doc)).map(doc => [page(doc), doc]))
    const chinese = document.documentElement.lang === "zh"
    const kept = docs.filter(doc => page(doc).startsWith("zh/")
      ? chinese
      : !chinese || !pages.has("zh/" + page(doc)))
    for (const doc of kept) learn(`${doc.title} ${doc.text}`)
    for (const doc of kept) {
      if (doc.location.startsWith("reference/api/")) {
        // the reference comes after the chapters, and the name is all that counts of a signature
        doc.boost = 0.5
        doc.title = doc.title.replace(/(\(| = )[^]*?(?=<\/code>)/, "")
        const [name] = doc.location.match(/\w*$/)
        if (/_|.[A-Z]/.test(name)) names.set(name, page(doc))
      } else if (doc.location === page(doc)) {
        doc.tags = doc.tags?.map(tag => tag.replace(/\p{sc=Han}+/gu, word => pieces(word).join("\u200b")))
        learn(`${doc.tags}`)
      } else {
        delete doc.tags
        // all its headings lead to a page
        const parent = pages.get(page(doc))
        if (parent) parent.headings = `${parent.headings ?? ""} ${doc.title}`
      }
    }
    return kept
  }

  // Material takes each word for the start of one, so that "a" finds most of the site, cuts Chinese
  // words short, and fails at the ":" of an error message. So ask for words that the index has.
  const stop = new RegExp("^([a-z0-9]|an|and|are|as|at|be|but|by|can|does?|for|from|has|have|how|if|in|is|its?"
    + "|must|my|of|on|or|so|than|that|the|this|to|was|what|when|which|will|with"
    + "|的|了|是|在|和|与|也|都|就|把|要|吗|呢|我|自己|怎么|怎样|如何|什么|为什么)$")
  const pieces = word => {
    let end = word.length
    while (end > 1 && !known.has(word.slice(0, end))) end--
    return end < word.length ? [word.slice(0, end), ...pieces(word.slice(end))] : [word]
  }
  const asked = query => {
    const words = query.split(separator)
      .flatMap(word => word.toLowerCase().match(/\p{sc=Han}+|[^\p{sc=Han}]+/gu) ?? [])
      .flatMap(word => /[a-z0-9]/.test(word) && [...known].some(other => other.startsWith(word))
        ? word
        : pieces(word))
    const telling = words.filter(word => !stop.test(word))
    return [...new Set(telling.length ? telling : words)].flatMap(word => {
      // Material drops the last of a row of Chinese characters, so it gets one to drop
      if (/\p{sc=Han}./u.test(word)) return `${word}㐀^2`
      const start = word.replace(/(?<=....)(e?s|ed|ing)$/, "")
      return known.has(word) ? [`${word}^2`, ...word.length > 3 ? [start] : []] : start
    }).join(" ")
  }

  window.Worker = class extends Worker {
    constructor(...rest) {
      super(...rest)
      // whoever asks for a name of the reference gets its entry first
      this.addEventListener("message", ({ data }) => data.data?.items?.sort(
        (a, b) => (page(b[0]) === wanted) - (page(a[0]) === wanted)))
    }

    postMessage(message, ...rest) {
      const data = message?.data
      if (data?.docs) {
        separator = new RegExp(data.config.separator)
        data.docs = ours(data.docs)
      } else if (typeof data === "string") {
        wanted = names.get(data.match(/^[\w.]*?(\w+)(\(.*)?$/)?.[1])
        // who quotes words wants all of them, and gets Material's own search
        if (!data.includes('"')) message = { ...message, data: asked(data) }
      }
      super.postMessage(message, ...rest)
    }
  }

  const all = selector => [...document.querySelectorAll(selector)]

  // Each block has a button that copies it. Material would add them in turns, and lay the page out
  // again after each; what they say and do is Material's.
  const { translations } = JSON.parse(document.querySelector("#__config").textContent)
  all("pre > code").forEach((code, i) => {
    code.id = `code-${i + 1}`
    code.insertAdjacentHTML("beforebegin", `<span class="md-code__nav"><button class="md-code__button"
      data-md-type="copy" data-clipboard-target="#${code.id}"
      title="${translations["clipboard.copy"]}"></button></span>`)
  })

  // Long docstrings in code unfold and fold again.
  addEventListener("click", event => {
    const fold = event.target.closest?.(".fold")
    if (fold) fold.ariaExpanded = String(fold.ariaExpanded !== "true")
  })

  // A symbol of a formula and the line of code that computes it light up together. They stay lit, so
  // that one can scroll from one to the other, until another is pointed at, a click beside, Escape.
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

  // The line that installs the package names the place that this copy of the site is read from.
  const wheel = document.querySelector(".install a")
  const encoded = sign => "%" + sign.charCodeAt().toString(16)
  if (wheel) wheel.textContent = wheel.href.replace(/[^\w:/.%~-]/g, encoded) // safe in any shell

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
  for (const type of ["load", "resize"]) addEventListener(type, markScrollers)
})()
