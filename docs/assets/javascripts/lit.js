// Lights the words that a reader came with from the search (?h=…), until Escape or a button.
(() => {
  "use strict"

  const address = new URL(location.href)
  const words = (address.searchParams.get("h") ?? "").split(" ").filter(Boolean)
  const article = document.querySelector("article")
  if (!words.length || !article || !window.Highlight) return

  // a Latin word from its start, with any ending; Chinese wherever it stands
  const patterns = words.map(word => {
    const said = word.replace(/[^\p{L}\p{N}_]/gu, "\\$&")
    return /\p{sc=Han}/u.test(word) ? said
      : `(?<![\\p{L}\\p{N}])${said.replace(/(?<=....)(e?s|ed|ing|e)$/, "")}[\\p{Ll}\\p{N}]*`
  })

  // {string} pattern -> {Range[]}: where the page says it
  const places = pattern => {
    const found = new RegExp(pattern, "giu"), ranges = []
    const texts = document.createTreeWalker(article, NodeFilter.SHOW_TEXT)
    while (texts.nextNode()) {
      const text = texts.currentNode
      if (text.parentElement.closest("svg, math, script, .page-end")) continue
      for (const { index, 0: match } of text.data.matchAll(found)) {
        const range = document.createRange()
        range.setStart(text, index)
        range.setEnd(text, index + match.length)
        ranges.push(range)
      }
    }
    return ranges
  }
  const phrase = places(patterns.join("[^\\p{L}\\p{N}]{0,2}"))
  const ranges = phrase.length ? phrase : places(patterns.join("|"))
  if (!ranges.length) return
  CSS.highlights.set("sought", new Highlight(...ranges))

  const button = document.createElement("button")
  button.className = "put-out md-button"
  button.type = "button"
  button.textContent = document.documentElement.lang === "zh" ? "清除高亮" : "Clear highlights"
  const putOut = () => {
    CSS.highlights.delete("sought")
    button.remove()
    removeEventListener("keydown", escape, true)
    address.searchParams.delete("h")
    address.hash = location.hash
    history.replaceState(history.state, "", address)
  }
  // before Material closes the search by the same key: then it is not for the lights
  const escape = ({ key }) => key === "Escape" && !document.getElementById("__search")?.checked && putOut()
  button.addEventListener("click", putOut)
  addEventListener("keydown", escape, true)
  article.append(button)
})()
