// Blocks of code: a button that copies each, docstrings that unfold, the line that installs.
(() => {
  "use strict"

  // Material would add its buttons in turns, and lay the page out again after each; what they say
  // and do is Material's.
  const { translations } = JSON.parse(document.querySelector("#__config").textContent)
  document.querySelectorAll("pre > code").forEach((code, i) => {
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

  // The line that installs the package names the place that this copy of the site is read from.
  const wheel = document.querySelector(".install a")
  const encoded = sign => "%" + sign.charCodeAt().toString(16)
  if (wheel) {
    wheel.textContent = wheel.href.replace(/[^\w:/.%~-]/g, encoded) // safe in any shell
    // the text itself, for of what is folded Material's script would copy nothing
    document.querySelector(".install button").dataset.clipboardText = wheel.parentElement.textContent
  }
})()
