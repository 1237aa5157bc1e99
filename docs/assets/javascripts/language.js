// The other language opens at the heading that one reads below here: both have the same ones.
(() => {
  "use strict"

  const page = url => url.pathname.replace("/zh/", "/")
  addEventListener("click", event => {
    const link = event.target.closest?.("a.md-select__link, .offer a")
    // the API reference has no translation: its link leads to another page
    if (!link || page(link) !== page(location)) return
    const above = [...document.querySelectorAll("article :is(h2, h3, h4)[id]")].filter(heading =>
      heading.checkVisibility() && heading.getBoundingClientRect().top < innerHeight / 3)
    link.hash = above.at(-1)?.id ?? ""
  })
})()
