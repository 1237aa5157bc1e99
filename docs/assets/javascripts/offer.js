// Offers the Chinese page to a reader of the English one whose browser prefers Chinese, until it is
// closed or a language is chosen. Not the other way: many who read Chinese have an English browser.
(() => {
  "use strict"

  const page = url => url.pathname.replace("/zh/", "/")
  const preferred = navigator.languages.map(tag => tag.slice(0, 2)).find(tag => tag === "en" || tag === "zh")
  const link = document.querySelector("a.md-select__link[hreflang=zh]")
  // the API reference has no translation: its link leads to another page
  if (preferred !== "zh" || !link || page(link) !== page(location) || __md_get("__offer")) return

  const offer = document.createElement("aside")
  offer.className = "offer"
  offer.lang = "zh"
  offer.ariaLabel = "语言"
  const there = document.createElement("a")
  there.href = link.href
  there.hreflang = "zh"
  there.textContent = "本页有中文版"
  const close = document.createElement("button")
  close.type = "button"
  close.textContent = "关闭"
  offer.append(there, close)
  document.body.append(offer)

  addEventListener("click", ({ target }) => {
    if (target !== close && !target.closest?.("a[hreflang]")) return
    __md_set("__offer", "answered")
    offer.remove()
  })
})()
