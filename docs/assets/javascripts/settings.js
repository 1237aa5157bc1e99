// The settings of a form in the page's address, so that they can be kept, shared and gone back to.
// Only what differs from the page's own is named; what the form does not allow is ignored.
(() => {
  "use strict"
  const form = document.querySelector("form[data-settings]")
  if (!form) return
  const fields = [...form.elements].filter(field => field.name)
  const value = field => field.type === "checkbox" ? String(Number(field.checked)) : field.value
  const own = new Map(fields.map(field => [field, value(field)]))

  const set = (field, text) => {
    if (field.type === "checkbox") {
      field.checked = (/^[01]$/.test(text) ? text : own.get(field)) === "1"
      return
    }
    // a list and a slider take no other than theirs
    const may = text && (field.localName === "select" || Number.isFinite(Number(text)))
    field.value = may ? text : own.get(field)
    if (may && field.value !== text || !field.validity.valid) field.value = own.get(field)
  }

  const read = () => {
    const given = new URLSearchParams(location.search)
    for (const field of fields) set(field, given.get(field.name) ?? own.get(field))
    form.dispatchEvent(new Event("input"))
  }

  // On a change, not while a slider moves: browsers allow an address so many changes a minute.
  form.addEventListener("change", () => {
    const named = fields.filter(field =>
      !field.disabled && field.validity.valid && value(field) !== own.get(field))
    const query = new URLSearchParams(named.map(field => [field.name, value(field)])).toString()
    history.replaceState(null, "", location.pathname + (query && `?${query}`) + location.hash)
  })

  // A link to settings on this page sets them; the way back leads to those before.
  addEventListener("click", event => {
    const link = event.target.closest?.('a[href^="?"]')
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    history.pushState(null, "", link.href)
    read()
    form.scrollIntoView({ block: "nearest" })
  })
  addEventListener("popstate", read)
  if (location.search) read()
})()
