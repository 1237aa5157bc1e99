// Fetches the model and the panel of model/induction when the form comes into view: nobody who stays
// at the top of the page waits for them.
(() => {
  "use strict"
  const form = document.querySelector(".induction")
  if (!form) return
  const here = document.currentScript.src
  const near = new IntersectionObserver(entries => {
    if (!entries.some(entry => entry.isIntersecting)) return
    near.disconnect()
    for (const name of ["forward.js", "panel.js"]) {
      const script = document.createElement("script")
      script.async = false // in this order
      script.src = new URL(name, here)
      document.head.append(script)
    }
  })
  near.observe(form)
})()
