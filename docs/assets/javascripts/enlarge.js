// A figure opens in a dialog as large as the screen, on a click on it or through a button that shows
// when it is pointed at. The drawing itself goes there and comes back, so that no name is there twice.
(() => {
  "use strict"

  const chinese = document.documentElement.lang === "zh"
  const dialog = document.createElement("dialog")
  dialog.className = "enlarged"
  dialog.innerHTML = `<button aria-label="${chinese ? "关闭" : "Close"}"></button>`
  document.body.append(dialog)
  dialog.addEventListener("click", () => dialog.close())

  const open = (svg, button) => {
    const space = document.createElement("div") // as high as the drawing was: nothing moves
    space.style.height = `${svg.getBoundingClientRect().height}px`
    dialog.ariaLabel = svg.querySelector("title").textContent
    button.focus({ preventScroll: true }) // which has the focus again once the dialog closes
    svg.replaceWith(space)
    dialog.append(svg)
    dialog.showModal()
    dialog.addEventListener("close", () => space.replaceWith(svg), { once: true })
  }

  for (const svg of document.querySelectorAll("figure > svg.figure:not(:has(a))")) {
    const button = document.createElement("button")
    button.className = "enlarge"
    button.ariaLabel = `${chinese ? "放大：" : "Enlarge: "}${svg.querySelector("title").textContent}`
    svg.after(button)
    for (const part of [svg, button]) part.addEventListener("click", event => {
      if (dialog.open) return
      event.stopPropagation()
      open(svg, button)
    })
  }
})()
