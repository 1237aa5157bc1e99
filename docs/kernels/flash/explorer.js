// The explorer of kernels/flash: which tile is made, what has been moved between the memories so
// far, and how much is held at once. Without scripts the form is hidden and a figure shows states.
(() => {
  "use strict"
  const form = document.querySelector(".flash-explorer")
  if (!form) return
  const [length, size] = [Number(form.dataset.length), Number(form.dataset.size)]
  const field = name => form.elements.namedItem(name)
  // What stays as it is is not written: the browser would lay out the page again.
  const write = (node, text) => { if (node.textContent !== text) node.textContent = text }
  const fill = (text, given) => text.replace(/\{(\w+)\}/g, (_, name) => given[name])

  const tiles = (rows, columns, causal) => {
    const found = []
    for (let top = 0; top < length; top += rows) {
      const seen = causal ? top + rows : length // later keys are hidden from all of these queries
      for (let left = 0; left < seen; left += columns) {
        const right = Math.min(left + columns, seen)
        found.push({ top, left, bottom: top + rows, right, last: right === seen })
      }
    }
    return found
  }

  // A row of tiles reads its queries once and writes outputs and log-sum-exps once
  const moved = (done, rows) => done.reduce((total, { left, right, last }) =>
    total + (left ? 0 : rows * size) + (right - left) * 2 * size + (last ? rows * (size + 1) : 0), 0)

  const mark = (all, step, i, j) => {
    const at = all.findIndex(t => t.top <= i && i < t.bottom && t.left <= j && j < t.right)
    return at < 0 ? "×" : at === step - 1 ? "■" : at < step ? "●" : ""
  }

  const update = () => {
    const [rows, columns] = ["rows", "columns"].map(name => Number(field(name).value))
    const all = tiles(rows, columns, field("causal").checked)
    field("step").max = all.length
    const step = Number(field("step").value)
    const { top, left, bottom, right } = all[step - 1]
    const width = right - left
    write(form.querySelector("[data-of=step]"), String(step))
    form.querySelectorAll(".mask tr").forEach((row, i) => {
      row.querySelectorAll("td").forEach((cell, j) => {
        write(cell, mark(all, step, i, j))
        cell.classList.toggle("may", cell.textContent === "■")
      })
    })
    write(form.querySelector("output"), fill(form.dataset.said, {
      step, count: all.length, top, bottom: bottom - 1, left, right: right - 1,
      moved: moved(all.slice(0, step), rows), total: moved(all, rows),
      rows, whole: 4 * length ** 2 + length / rows * length * 3 * size + length * size,
      held: 2 * rows * (size + 1) + width * 2 * size + rows * width,
    }))
  }
  form.addEventListener("input", update)
  form.addEventListener("submit", event => event.preventDefault())
  update()
})()
