// A symbol of a formula and the line of code that computes it light up together. They stay lit, so
// that one can scroll from one to the other, until another is pointed at, a click beside, Escape.
(() => {
  "use strict"

  const all = selector => [...document.querySelectorAll(selector)]
  const symbolAt = event => event.target.closest?.("[data-symbol]")
  const keys = element => element.dataset.symbol.split(" ")

  let lit
  const light = place => {
    if (place === lit) return
    lit = place
    all(".symbols > :last-child").forEach(note => note.replaceChildren())
    const places = all("[data-symbol]").filter(element =>
      element.classList.toggle("lit", !!place && keys(element).some(key => keys(place).includes(key))))
    if (place) explain(place, places)
  }

  // Under the formula: what the symbols mean, and a link to the line.
  const explain = (place, places) => {
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
})()
