// The button below the title copies the page as Markdown, from the file that the link beside it leads
// to. Where no script may read that file, as on a disk, the button does what the link does.
(() => {
  "use strict"

  const button = document.querySelector(".takeaway button")
  button?.addEventListener("click", async () => {
    const link = button.previousElementSibling
    const read = async () => {
      const answer = await fetch(link.href)
      if (!answer.ok) throw new Error(answer.statusText)
      return new Blob([await answer.text()], { type: "text/plain" })
    }
    try {
      // a promise, for some browsers let a script write only at once after the click
      await navigator.clipboard.write([new ClipboardItem({ "text/plain": read() })])
      button.nextElementSibling.textContent = button.dataset.copied
    } catch {
      link.click()
    }
  })
})()
