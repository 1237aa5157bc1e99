// Search, on the page's side: makes it ready, and says what is not in the book and what is near.
(() => {
  "use strict"

  const field = document.querySelector(".md-search__input")
  if (!field) return
  const state = document.querySelector(".md-search-result__meta")
  const search = query => {
    field.value = query
    field.dispatchEvent(new KeyboardEvent("keyup"))
  }

  // The worker hears of nothing but what is typed. So that it makes ready before that, a blank is:
  // again, until it answers, for it may not have been there to hear.
  const unready = state.textContent
  const wake = () => {
    if (field.value || state.textContent !== unready) return
    for (const value of [" ", ""]) search(value)
    setTimeout(wake, 200)
  }
  field.addEventListener("focus", wake, { once: true })

  const chinese = document.documentElement.lang === "zh"
  const [missing, near, elsewhere] = chinese
    ? [word => `本站没有“${word}”。`, "相近的词：", "用英文搜索"]
    : [word => `“${word}” is not on this site. `, "Near: ", "Search in Chinese"]

  // {{word: string, near: string[]}} -> {(string|Element)[]}
  const said = ({ word, near: words }) => {
    const buttons = words.flatMap(other => {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: other })
      button.addEventListener("click", () => {
        search(field.value.replace(new RegExp(word, "i"), () => other))
        field.focus()
      })
      return [button, " "]
    })
    const translation = document.querySelector(`[hreflang="${chinese ? "en" : "zh"}"]`)
    if (!translation || /\p{sc=Han}/u.test(word) === chinese) return [missing(word), ...buttons.length ? [near] : [], ...buttons]
    const link = Object.assign(document.createElement("a"), { textContent: elsewhere })
    link.href = `${translation.href.split(/[?#]/)[0]}?q=${encodeURIComponent(field.value)}`
    return [missing(word), ...buttons.length ? [near] : [], ...buttons, link]
  }

  const note = document.createElement("p")
  note.className = "search-note"
  note.role = "status"
  state.after(note)
  // Material searches when a key goes up: what is pasted or dictated has none
  field.addEventListener("input", () => search(field.value))
  new BroadcastChannel("search").addEventListener("message", ({ data: { query, unknown } }) => {
    // other windows of the site search too
    if (query.trim() === field.value.trim()) note.replaceChildren(...unknown.flatMap(said))
  })
})()
