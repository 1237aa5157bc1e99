// Search, on the page's side. Runs before Material's script, which looks for a form named "search".
(() => {
  "use strict"

  const field = document.querySelector(".md-search__input")
  if (!field) return

  // Such a form has Material fetch search_index.json with every page. It needs what stands there only
  // where it lights the words that a reader came with; the index itself is the worker's to fetch.
  if (new URLSearchParams(location.search).has("h")) field.form.name = "search"

  // The worker hears of nothing but what is typed. So that it makes ready before that, a blank is:
  // again, until it answers, for it may not have been there to hear.
  const state = document.querySelector(".md-search-result__meta")
  const unready = state.textContent
  const wake = () => {
    if (field.value || state.textContent !== unready) return
    for (const value of [" ", ""]) {
      field.value = value
      field.dispatchEvent(new KeyboardEvent("keyup"))
    }
    setTimeout(wake, 200)
  }
  field.addEventListener("focus", wake, { once: true })
})()
