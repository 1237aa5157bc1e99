// Colours: light, dark, or as the system has it. Material's script for the form has the style of the
// whole page computed four times while a page comes up; docs/_theme/main.html keeps the form from it.
(() => {
  "use strict"

  const form = document.querySelector(".palette")
  if (!form) return
  const inputs = [...form.querySelectorAll("input")]
  const matches = input => matchMedia(input.dataset.mdColorMedia).matches
  const header = document.querySelector(".md-header")
  const bar = document.createElement("meta") // the colour of the bar that a phone shows above the page
  bar.name = "theme-color"
  document.head.append(bar)

  let index
  const show = chosen => {
    index = chosen
    // the first holds always; where it is chosen, the last that holds is what the system has
    const { mdColorScheme: scheme, mdColorPrimary: primary, mdColorAccent: accent }
      = (index ? inputs[index] : inputs.findLast(matches)).dataset
    const color = { media: inputs[index].dataset.mdColorMedia, scheme, primary, accent }
    for (const [key, value] of Object.entries(color)) document.body.setAttribute(`data-md-color-${key}`, value)
    inputs.forEach((input, i) => input.nextElementSibling.hidden = i !== index)
    __md_set("__palette", { index, color }) // read before the first paint by Material's line in each page
    bar.content = getComputedStyle(header).backgroundColor
  }

  // Nothing fades from one palette to the other.
  const change = chosen => {
    document.body.setAttribute("data-md-color-switching", "")
    show(chosen)
    setTimeout(() => document.body.removeAttribute("data-md-color-switching"))
  }
  form.addEventListener("change", event => change(inputs.indexOf(event.target)))
  form.addEventListener("keydown", event => {
    if (event.key !== "Enter") return
    const next = inputs[(index + 1) % inputs.length]
    next.click()
    next.focus()
  })
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => change(index))
  show(__md_get("__palette")?.index ?? 0)
})()
