// The table of checkpoints/models: a button in each heading that can be sorted by, and a form that
// hides the rows which are not asked for. Without scripts the table is whole, in the file's order.
(() => {
  "use strict"
  const box = document.querySelector(".models")
  const form = document.querySelector(".models-filter")
  if (!box || !form) return
  const body = box.querySelector("tbody")
  const rows = [...body.rows]
  const heads = [...box.querySelectorAll("thead th")]
  const text = (row, column) => row.cells[column].textContent
  const number = (row, column) => parseFloat(text(row, column).replace(/[(,]/g, ""))

  const sort = (head, column, down) => {
    const way = down ? -1 : 1
    const compare = head.dataset.sort === "number"
      ? (a, b) => number(a, column) - number(b, column)
      : (a, b) => text(a, column).localeCompare(text(b, column), "en", { numeric: true })
    for (const other of heads) other.removeAttribute("aria-sort")
    head.setAttribute("aria-sort", down ? "descending" : "ascending")
    body.append(...rows.toSorted((a, b) => way * compare(a, b)))
  }

  heads.forEach((head, column) => {
    if (!head.dataset.sort) return
    const button = document.createElement("button")
    button.type = "button"
    button.textContent = head.textContent
    button.title = box.dataset.sortBy
    head.replaceChildren(button)
    button.addEventListener("click", () => sort(head, column, head.getAttribute("aria-sort") === "ascending"))
  })

  const update = () => {
    const [name, has] = ["name", "has"].map(field => form.elements.namedItem(field).value.trim().toLowerCase())
    const names = name.split(",").map(one => one.trim()).filter(Boolean) // any of them
    for (const row of rows) {
      const fits = !names.length || names.some(one => text(row, 0).toLowerCase().includes(one))
      row.hidden = !(fits && (!has || row.dataset.has.split(" ").includes(has)))
    }
    const shown = rows.filter(row => !row.hidden).length
    const said = form.dataset.said.replace("{shown}", shown).replace("{all}", rows.length)
    const output = form.querySelector("output")
    if (output.textContent !== said) output.textContent = said
  }
  form.addEventListener("input", update)
  form.addEventListener("submit", event => event.preventDefault())
  update()
})()
